"""The page of `scda view` in a real browser: what it draws is compared with the numbers.

usage: browser.py SCDA FOLDER; prints `passed` at the end."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import files

PATIENCE = 60


@contextlib.contextmanager
def serving(scda, *paths):
    child = subprocess.Popen([scda, "view", "--no-browser", *paths], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield child.stdout.readline().strip()
    finally:
        child.kill()
        child.wait()


class Page:
    def __init__(self, driver, address):
        self.driver, self.address = driver, address
        if address is not None:  # else it is there
            driver.get(address)
        self.until("return Boolean(window.scda)", "the page has begun")
        self.entries = self.js("const r = await fetch('api/files'); return (await r.json()).files[0].entries")

    def js(self, script, *arguments):
        body = f"const done = arguments[arguments.length - 1]; (async (...given) => {{ {script} }})(...arguments).then((v) => done([v]), (e) => done(String(e)));"
        found = self.driver.execute_async_script(body, *arguments)
        assert isinstance(found, list), found
        return found[0]

    def until(self, script, what, *arguments):
        end = time.monotonic() + PATIENCE
        while not (found := self.js(script, *arguments)):
            assert time.monotonic() < end, f"waited in vain: {what}; {self.text('stage')}"
            time.sleep(0.05)
        return found

    def text(self, name):
        return self.driver.find_element(By.ID, name).text

    def show(self, name, view="", record=0):
        """Shows a dataset or group, and waits until it is drawn."""
        item = next(i for i, entry in enumerate(self.entries) if entry["name"] == name)
        self.js("location.hash = given[0]", f"f=0&i={item}&r={record}&v={view}")
        self.until("return document.getElementById('title').textContent === given[0] && scda.state.i === given[1] && Boolean(scda.shown)", name, name, item)
        if view == "mesh":
            self.drawn()

    def drawn(self):
        self.until("return scda.shown && scda.shown.picture && scda.shown.picture.data && Boolean(scda.shown.picture.data.image)", "a picture")

    def value(self, index):
        """What is drawn at a pixel of the data."""
        return self.js("const v = scda.shown.picture.data.values[given[0]]; return v === v ? v : null", index)

    def colour(self, across, up):
        """The colour of the canvas at a place of the frame, from 0 to 1."""
        return self.js(
            """const { canvas, at: [x, y, w, h] } = scda.shown.picture;
            const ratio = window.devicePixelRatio;
            return [...canvas.getContext("2d").getImageData((x + given[0] * w) * ratio, (y + (1 - given[1]) * h) * ratio, 1, 1).data].slice(0, 3)""",
            across, up)

    def pointer(self, across, up, *then):
        """Moves the pointer to a place of the frame, and tells what stands below the picture."""
        canvas = self.driver.find_element(By.CSS_SELECTOR, "#stage canvas")
        x, y, w, h = self.js("return scda.shown.picture.at")
        size = canvas.size
        ActionChains(self.driver, duration=0).move_to_element_with_offset(canvas, int(x + across * w - size["width"] / 2), int(y + (1 - up) * h - size["height"] / 2)).perform()
        return self.text("pointer")

    def key(self, *keys):
        stage = self.driver.find_element(By.ID, "stage")
        stage.send_keys(*keys)


def opened(driver, scda, path, folder):
    """The file that `scda view` gives to a browser leads it to the page, and is then gone."""
    opener = folder / "xdg-open"
    opener.write_text('#!/bin/sh\nprintf %s "$1" >"$HOME/opening" && mv "$HOME/opening" "$HOME/opened"\n')
    opener.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder), "DISPLAY": ":99"}
    child = subprocess.Popen([scda, "view", path], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address, end = child.stdout.readline().strip(), time.monotonic() + PATIENCE
        while not (folder / "opened").exists():
            assert time.monotonic() < end, "waited in vain for the browser to be started"
            time.sleep(0.05)
        redirect = pathlib.Path((folder / "opened").read_text())
        driver.get(redirect.as_uri())
        while driver.current_url.partition("#")[0] != address:
            assert time.monotonic() < end, f"waited in vain at {driver.current_url}"
            time.sleep(0.05)
        driver.refresh()
        page = Page(driver, None)
        page.show("dam", "mesh")
        assert not redirect.exists()
    finally:
        child.kill()
        child.wait()


def near(a, b):
    return all(abs(x - y) <= 2 for x, y in zip(a, b))


def pictures(page):
    """Colours, keys and profiles of a picture."""
    page.show("dam/fields/height", "mesh", 1)
    nx, ny = page.js("const d = scda.shown.picture.data; return [d.nx, d.ny]")
    # The pixel on the screen has the colour of the number.
    k = ny // 2 * nx + nx // 2 + 3
    low, high = page.js("return [scda.shown.picture.scale.from, scda.shown.picture.scale.to]")
    maps = page.js("const r = await fetch('api/files'); return (await r.json()).maps")
    colours = [maps["viridis"][min(255, int((page.value(k) - low) / (high - low) * 256))]]
    colours.append([c * 0.625 for c in colours[0]])  # an edge
    assert any(near(page.colour((nx // 2 + 3.5) / nx, 1 - (ny // 2 + 0.5) / ny), colour) for colour in colours)
    # Keys: records, colours, zoom, all.
    page.key("]")
    page.until("return scda.state.r === 2", "the next record")
    page.key("c")
    page.until("return scda.state.map === 'diverging'", "other colours")
    whole = page.js("return scda.state.camera[2]")
    page.key("+", "+", "+")
    page.until("return scda.state.camera[2] > 2 * given[0]", "a part, nearer", whole)
    left = page.js("return scda.state.camera[0]")
    page.key(Keys.ARROW_RIGHT)
    page.until("return scda.state.camera[0] > given[0]", "moved", left)
    page.key("0")
    page.until("return Math.abs(scda.state.camera[2] / given[0] - 1) < 0.01", "all", whole)
    page.key("c", "c")
    page.drawn()
    # A profile, drawn with shift.
    page.pointer(0.1, 0.52)
    ActionChains(page.driver, duration=10).key_down(Keys.SHIFT).click_and_hold().move_by_offset(200, 0).release().key_up(Keys.SHIFT).perform()
    profile = page.until("const v = scda.shown.picture.profileValues; return v && v.length > 250 && Array.from(v)", "a profile")
    assert len({value for value in profile if value is not None}) > 3, profile[:9]


def hostile(page):
    name = f"hostile/{files.HOSTILE[:45]}"
    item = next(i for i, entry in enumerate(page.entries) if entry["name"] == name)
    page.js("location.hash = given[0]", f"f=0&i={item}")
    page.until("return document.getElementById('title').textContent === given[0] && document.querySelector('#stage pre')?.textContent === '0.0 1.0 2.0\\n3.0 4.0 5.0\\n6.0 7.0 8.0\\n'", name, name)
    assert page.text("title") == name and files.HOSTILE in page.text("about")
    assert page.js("return document.querySelectorAll('main img, nav img, main script, nav script').length") == 0
    assert page.driver.title.startswith("hostile/")


def meshes(page, cells):
    import math

    page.show("dam/fields/height", "mesh", 1)
    # Each pixel has the number of the cell in which it is.
    found = page.js(
        """const { values, cells, nx, ny, box: [l, r, b, t] } = scda.shown.picture.data;
        const found = [];
        for (let k = 7; k < nx * ny; k += 997) found.push([l + ((k % nx) + 0.5) / nx * (r - l), t - (Math.floor(k / nx) + 0.5) / ny * (t - b), cells[k], cells[k] ? values[k] : null]);
        return found""")
    inside = 0
    for x, y, cell, value in found:
        is_in = 0 < x < 2 and 0 < y < 1
        assert is_in == (cell > 0), (x, y, cell)
        if is_in:
            corner, level, middle = cells[cell - 1]
            size = 1 / (1 << level)
            low = [c / files.TREE for c in corner]
            assert low[0] - 1e-9 <= x / 2 <= low[0] + size + 1e-9 and low[1] - 1e-9 <= y <= low[1] + size + 1e-9
            assert abs(value - math.sin(6 * middle[0] + 1) * math.cos(5 * middle[1])) < 1e-12
            inside += 1
    assert inside > 100, inside
    words = page.pointer(0.5, 0.5)
    assert "cell" in words and "value" in words, words
    page.key("+")
    page.until("return scda.shown.picture.data.box[1] - scda.shown.picture.data.box[0] < 1.8", "nearer")
    page.show("ball", "mesh")
    page.until("return Boolean(scda.shown.picture.data.shades)", "a mesh in space")
    turn = page.js("return scda.state.camera[3]")
    page.key(Keys.ARROW_LEFT)
    page.until("return scda.state.camera[3] !== given[0]", "turned", turn)
    # What was shown asks again and again, as its timers may: that takes nothing from what is shown next.
    page.js("const old = scda.shown; const again = setInterval(() => old.read(), 0); setTimeout(() => clearInterval(again), 1000)")
    page.show("roof/cell_fields/temperature", "mesh")
    seen = page.js("return [...new Set(scda.shown.picture.data.values)].filter((v) => v === v).sort()")
    assert seen == [285, 290, 291], seen


def patches(page, boxes, levels, places):
    """The finest patch at each pixel; particles where they are; steps of a mesh."""
    page.show("amr/fields/rho", "mesh")

    def finest(x, y):
        found = None
        for (x0, y0, nx, ny), level in zip(boxes, levels):
            column, row = x * 16 * 2**level - x0, y * 16 * 2**level - y0
            if 0 <= column < nx and 0 <= row < ny:
                found = level + int(column) / 100
        return found

    found = page.js(
        """const { values, nx, ny, box: [l, r, b, t] } = scda.shown.picture.data;
        const found = [];
        for (let k = 7; k < nx * ny; k += 499) found.push([l + ((k % nx) + 0.5) / nx * (r - l), t - (Math.floor(k / nx) + 0.5) / ny * (t - b), values[k] === values[k] ? values[k] : null]);
        return found""")
    seen = set()
    for x, y, value in found:
        expected = {finest(x + dx, y + dy) for dx in (-1e-9, 1e-9) for dy in (-1e-9, 1e-9)}
        # On an edge, rounding decides which of its cells is seen.
        assert value in expected, (x, y, value, expected)
        seen.add(value is not None and int(value))
    assert seen >= {0, 1, 2}, seen
    page.show("dust/fields/mass", "mesh")
    for k in (0, 7, 31):
        value = page.js("const p = scda.shown.picture; return p.data.values[p.index(given)]", *places[k])
        near = [j for j, place in enumerate(places) if abs(place[0] - places[k][0]) + abs(place[1] - places[k][1]) < 0.1]
        assert value in near, (k, value, near)
    page.show("dam", "mesh", 2)
    assert page.entries[page.js("return scda.state.i")]["records"] == 3
    # A cut is a plane with axes, and stands in the address.
    page.show("ball", "mesh")
    page.js("const s = document.querySelector('select[aria-label=cut]'); s.value = '1'; s.dispatchEvent(new Event('change'))")
    page.until("return scda.shown.picture && scda.shown.picture.view?.xName === 'x' && scda.shown.picture.view.yName === 'z' && location.hash.includes('cut=1')", "a cut")


def rest(page):
    page.driver.find_element(By.ID, "stage").send_keys("/")
    page.until("return document.activeElement.id === 'filter'", "the filter")
    page.driver.find_element(By.ID, "filter").send_keys("temper", Keys.ESCAPE)
    rows = page.js("return [...document.querySelectorAll('#tree .row')].map((n) => n.textContent)")
    assert sum("temperature" in row for row in rows) == 2 and len(rows) < 8, rows
    page.driver.find_element(By.ID, "filter").clear()
    page.driver.find_element(By.ID, "filter").send_keys(" ", Keys.BACKSPACE, Keys.ESCAPE)
    page.show("about this file", "bytes")
    page.until("return document.querySelector('#stage pre').textContent.includes('A file to look at.')", "text")
    # The address leads to the same picture again.
    page.show("dam/fields/height", "mesh", 1)
    page.key("+", "d")
    page.until("return new URLSearchParams(location.hash.slice(1)).get('camera') === scda.state.camera.join() && document.documentElement.classList.contains('dark')", "nearer, and dark")
    address = page.driver.current_url
    camera = page.js("return scda.state.camera")
    page.driver.get("about:blank")
    page.driver.get(address)
    page.until("return Boolean(window.scda)", "the page has begun")
    page.drawn()
    found = page.js("return [scda.state.camera, scda.state.r]")
    assert found == [camera, 1], (found, camera)
    page.key("d")
    # A picture that comes right after the address was changed puts its own state there; what was asked for is shown all the same.
    item = next(i for i, entry in enumerate(page.entries) if entry["name"] == "about this file")
    page.js("const old = location.hash; location.hash = given[0]; history.replaceState(null, '', old)", f"f=0&i={item}&r=0&v=bytes")
    page.until("return scda.state.i === given[0] && document.querySelector('#stage pre')?.textContent.includes('A file to look at.')", "what the address asked for", item)
    errors = [entry for entry in page.driver.get_log("browser") if entry["level"] == "SEVERE"]
    assert not errors, errors


def beside(driver, scda, paths, folder):
    """Two files: the same field of both with one scale, and their difference."""
    with serving(scda, *paths) as address:
        page = Page(driver, address)
        # Meshes of different cells: at each pixel.
        page.show("dam/fields/height", "mesh", 1)
        page.until("return scda.shown.panels.pictures.length === 3 && scda.shown.panels.pictures.every(({ data }) => data && data.image)", "three meshes")
        driver.save_screenshot(str(folder / "beside-meshes.png"))
        cells, wrong = page.js(
            """const [a, b, apart] = scda.shown.panels.pictures.map(({ data }) => data);
            const both = a.values.map((value, k) => b.values[k] - value);
            return [both.filter((value) => value === value && value !== 0).length, both.filter((value, k) => !Object.is(value, apart.values[k])).length]""")
        assert cells > 1000 and wrong == 0, (cells, wrong)
        scales = page.js("return scda.shown.panels.pictures.map(({ scale: { from, to } }) => [from, to])")
        assert scales[0] == scales[1] and scales[2][0] == -scales[2][1], scales
        words = page.pointer(0.5, 0.5)
        assert all(name in words for name in ("sample.scda ", "other.scda ", "other.scda − sample.scda ")), words
        page.js("const s = document.querySelector('select[aria-label=beside]'); s.value = '-1'; s.dispatchEvent(new Event('change'))")
        page.until("return scda.shown.panels.pictures.length === 1 && location.hash.includes('with=-1')", "nothing beside it")
        errors = [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
        assert not errors, errors


def a_million_cells(driver, scda, folder):
    """A uniform forest of 1024 by 1024 cells: how long a picture takes."""
    file, level = files.File(folder, "million"), 10
    n = 1 << level

    def spread(k):
        """Bits of a number at every second place."""
        for shift, mask in ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
            k = (k | k << shift) & mask
        return k

    step = files.TREE >> level
    codes = [0] * (n * n)
    for y in range(n):
        high = spread(y) << 1
        for x in range(n):
            codes[high | spread(x)] = (x, y)
    file.group("forest", scda_forest=1, dimension=2)
    file.dataset("forest/tree_to_tree", "int32", [1, 4], [0] * 4)
    file.dataset("forest/tree_to_face", "int8", [1, 4], range(4))
    file.dataset("forest/coordinates", "int32", [n * n, 2], [c * step for code in codes for c in code])
    file.dataset("forest/level", "uint8", [n * n], bytes([level]) * (n * n))
    file.dataset("forest/tree_offsets", "int64", [2], [0, n * n])
    file.dataset("forest/fields/x", "float64", [n * n], [float(x) for x, _ in codes])
    path = file.make(scda)
    with serving(scda, path) as address:
        page = Page(driver, address)
        page.show("forest/fields/x", "mesh")
        middle = page.js("const { values, nx, ny } = scda.shown.picture.data; return [values[Math.floor(ny / 2) * nx + Math.floor(nx / 2)], nx]")
        assert abs(middle[0] - 512) <= 2, middle
        took = page.js(
            """const times = [];
            for (let k = 0; k < 5; ++k) {
              const before = performance.now();
              scda.shown.picture.data.image = null;
              scda.shown.zoom(0.9);
              while (!scda.shown.picture.data.image || Math.abs(scda.shown.picture.data.box[1] - scda.shown.picture.view.box[1]) > 1e-9) await new Promise((go) => setTimeout(go, 5));
              times.push(performance.now() - before);
            }
            return times.sort((a, b) => a - b)[2]""")
        print(f"10^6 cells: a picture in {took:.0f} ms")
        assert took < 5000, took


def main():
    scda, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    path, cells, drawn = files.sample(folder, scda)
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900", "--force-device-scale-factor=1"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    driver.set_script_timeout(PATIENCE)
    driver.set_page_load_timeout(PATIENCE)
    try:
        with serving(scda, path) as address:
            page = Page(driver, address)
            for test in (pictures, hostile, lambda page: meshes(page, cells), lambda page: patches(page, *drawn), rest):
                begin = time.monotonic()
                test(page)
                print(f"{getattr(test, '__name__', 'test')}: {time.monotonic() - begin:.1f} s")
        opened(driver, scda, path, folder)
        beside(driver, scda, [path, files.other(folder, scda)], folder)
        a_million_cells(driver, scda, folder)
    except BaseException:
        driver.save_screenshot(str(folder / "failed.png"))
        raise
    finally:
        driver.quit()
    print("passed")


if __name__ == "__main__":
    main()
