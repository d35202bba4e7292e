// Numbers that stand for moments: the dates of an axis, as plot/clock.rs makes them. A clock comes from the command:
// its calendar, the seconds or months of each number, and the moment of the number 0, in seconds after day 0.

const DAY = 86400;
const SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200];
// Moments farther away than this number of seconds have no date.
const FAR = 1e15;

const modulo = (n, by) => n - by * Math.floor(n / by);
const padded = (n, digits = 2) => (n < 0 ? `-${padded(-n, digits - 1)}` : String(n).padStart(digits, "0"));

// ---- calendars, as datasets/calendar.rs has them: days after the first of March of the year 0
function march(calendar, year) {
  const quarter = Math.floor(year / 4);
  switch (calendar) {
    case "julian": return 365 * year + quarter - 2;
    case "noleap": return 365 * year;
    case "all_leap": return 366 * year;
    case "360_day": return 360 * year;
    default: return 365 * year + quarter - Math.floor(year / 100) + Math.floor(year / 400);
  }
}

const REFORM = 578041;

// The first day of a month, which is counted from the year 0 on.
function dayOf(calendar, month) {
  // From October 1582 on, months begin in the Gregorian calendar, but for that one.
  if (calendar === "standard" && month < 1582 * 12 + 10) calendar = "julian";
  const [year, ofYear] = [Math.floor((month - 2) / 12), modulo(month - 2, 12)];
  return march(calendar, year) + (calendar === "360_day" ? 30 * ofYear : Math.floor((153 * ofYear + 2) / 5));
}

// The month, counted likewise, and the day of it.
function dateOf(calendar, day) {
  if (calendar === "standard" && day < REFORM) calendar = "julian";
  let year = Math.floor((400 * day) / (march(calendar, 400) - march(calendar, 0)));
  while (march(calendar, year + 1) <= day) ++year;
  while (march(calendar, year) > day) --year;
  const ofYear = day - march(calendar, year);
  const month = calendar === "360_day" ? Math.floor(ofYear / 30) : Math.floor((5 * ofYear + 2) / 153);
  return { month: 12 * year + month + 2, day: ofYear - (calendar === "360_day" ? 30 * month : Math.floor((153 * month + 2) / 5)) + 1 };
}

const yearText = (month) => padded(Math.floor(month / 12), 4);
const monthText = (month) => `${yearText(month)}-${padded(modulo(month, 12) + 1)}`;

function dateText({ calendar }, day) {
  const date = dateOf(calendar, day);
  return `${monthText(date.month)}-${padded(date.day)}`;
}

// ---- numbers and moments
function seconds({ calendar, seconds, months, origin }, number) {
  if (seconds !== null) return origin + number * seconds;
  const count = number * months;
  const month = dateOf(calendar, Math.floor(origin / DAY)).month + Math.floor(count);
  const [first, next] = [dayOf(calendar, month), dayOf(calendar, month + 1)];
  return (first + (count - Math.floor(count)) * (next - first)) * DAY;
}

function number({ calendar, seconds, months, origin }, moment) {
  if (seconds !== null) return (moment - origin) / seconds;
  const { month } = dateOf(calendar, Math.floor(moment / DAY));
  const [first, next] = [dayOf(calendar, month), dayOf(calendar, month + 1)];
  return (month - dateOf(calendar, Math.floor(origin / DAY)).month + (moment / DAY - first) / (next - first)) / months;
}

const isNear = ({ seconds, months }, number) => Math.abs(number * (seconds ?? months * 31 * DAY)) < FAR;

// The day of all that is between two numbers, if it is one: what times on an axis leave out.
export function dayBetween(clock, from, to) {
  if (!isNear(clock, from) || !isNear(clock, to)) return null;
  const [first, last] = [from, to].map((number) => Math.floor(seconds(clock, number) / DAY));
  return first === last ? dateText(clock, first) : null;
}

// A moment, up to its millisecond, without zeros that say nothing.
export function moment(clock, number) {
  if (!isNear(clock, number)) return null;
  const all = Math.round(seconds(clock, number) * 1000);
  const rest = modulo(all, 86400000);
  const date = dateText(clock, (all - rest) / 86400000);
  if (rest === 0) return date;
  const [whole, parts] = [modulo(Math.floor(rest / 1000), 60), rest % 1000];
  const end = parts ? `:${padded(whole)}.${padded(parts, 3)}` : whole ? `:${padded(whole)}` : "";
  return `${date}T${padded(Math.floor(rest / 3600000))}:${padded(Math.floor(rest / 60000) % 60)}${end}`;
}

// The time of a tick: at midnight the date.
function timeText(clock, moment, step) {
  const all = Math.round(moment * 1000);
  const rest = modulo(all, 86400000);
  if (rest === 0) return dateText(clock, all / 86400000);
  const time = `${padded(Math.floor(rest / 3600000))}:${padded(Math.floor(rest / 60000) % 60)}`;
  if (step >= 60) return time;
  const whole = `${time}:${padded(Math.floor(rest / 1000) % 60)}`;
  return step >= 1 ? whole : `${whole}.${padded(rest % 1000, 3)}`;
}

// Round dates and times, at most about `most` of them; null if numbers are too far away or too near each other for that.
export function dateTicks(clock, fromNumber, toNumber, most) {
  if (!isNear(clock, fromNumber) || !isNear(clock, toNumber)) return null;
  const [from, to] = [seconds(clock, fromNumber), seconds(clock, toNumber)];
  const room = ((to - from) / Math.max(1, most)) * 0.999;
  if (!(room >= SECONDS[0])) return null;
  const found = [];
  // Numbers as large as moments are not exact.
  const margin = room * 1e-6 + 2e-5;
  const put = (moment, text) => {
    if (moment >= from - margin && moment <= to + margin) found.push({ value: number(clock, moment), text });
  };
  const { calendar } = clock;
  const [first, last] = [from, to].map((moment) => dateOf(calendar, Math.floor(moment / DAY)).month);
  const ofDay = SECONDS.find((step) => step >= room);
  const ofMonth = [1, 2, 5, 10, 15].find((step) => step * DAY >= room);
  if (ofDay) {
    // From midnight on.
    const begin = Math.floor(from / DAY) * DAY;
    const last = Math.floor((to - begin) / ofDay + 0.01);
    for (let n = Math.ceil((from - begin) / ofDay - 0.01); n <= last; ++n) put(begin + n * ofDay, timeText(clock, begin + n * ofDay, ofDay));
  } else if (ofMonth) {
    for (let month = first; month <= last; ++month) {
      // None is close to the next month, which has one.
      for (let day = dayOf(calendar, month); dayOf(calendar, month + 1) - day >= 0.75 * ofMonth; day += ofMonth) put(day * DAY, dateText(clock, day));
    }
  } else {
    const months = room / (30.5 * DAY);
    const power = Math.max(1, 10 ** Math.floor(Math.log10(months / 12)));
    const step = [1, 2, 3, 6].find((n) => n >= months) ?? 12 * power * ([1, 2, 5].find((n) => 12 * power * n >= months) ?? 10);
    for (let month = Math.floor(first / step) * step; month <= last; month += step) put(dayOf(calendar, month) * DAY, step < 12 ? monthText(month) : yearText(month));
  }
  return found;
}
