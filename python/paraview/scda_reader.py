"""A plugin of ParaView that opens scda files with forests (docs/forest.md), compressed or not.

In ParaView: Tools, Manage Plugins, Load New, this file; or the environment variable PV_PLUGIN_PATH with its folder. It needs the
Python package scda for the Python of ParaView: docs/python.md says how.
"""

import os

import numpy as np
import scda
from scda._cf import unpacked
from scda._vtk import vtk_values
from vtkmodules.util.numpy_support import numpy_to_vtk, numpy_to_vtkIdTypeArray
from vtkmodules.vtkCommonCore import vtkDataArraySelection, vtkPoints
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkDataObject, vtkUnstructuredGrid
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline as Pipeline

try:
    from paraview.util.vtkAlgorithm import VTKPythonAlgorithmBase, smdomain, smhint, smproperty, smproxy
except ImportError:
    # VTK alone: the same reader, without the properties that ParaView shows.
    from vtkmodules.util.vtkAlgorithm import VTKPythonAlgorithmBase

    class _Nothing:
        def __getattr__(self, _name):
            return lambda *_, **__: lambda decorated: decorated

    smdomain = smhint = smproperty = smproxy = _Nothing()


@smproxy.reader(
    name="scdaReader", label="scda forest reader", extensions="scda", file_description="scda files with forests"
)
class ScdaReader(VTKPythonAlgorithmBase):
    """Cells of the forest, one for each quadrant, with its fields, its level and its tree; fields at corners are of points. Several processes of a server
    read a part of the cells each."""

    def __init__(self):
        super().__init__(nInputPorts=0, nOutputPorts=1, outputType="vtkUnstructuredGrid")
        self._path = None
        self._forest_name = ""
        self._fields = vtkDataArraySelection()
        self._fields.AddObserver("ModifiedEvent", lambda *_: self.Modified())
        self._file = self._forest = None

    @smproperty.stringvector(name="FileName")
    @smdomain.filelist()
    @smhint.filechooser(extensions="scda", file_description="scda files with forests")
    def SetFileName(self, path):
        """The file."""
        if path != self._path:
            self._path = path
            self._forget()

    @smproperty.stringvector(name="Forest", default_values="")
    def SetForest(self, name):
        """The group of the forest. Empty: the only one of the file."""
        if name != self._forest_name:
            self._forest_name = name
            self._forget()

    @smproperty.doublevector(name="TimestepValues", information_only="1", si_class="vtkSITimeStepsProperty")
    def GetTimestepValues(self):
        """The times of the file."""
        forest = self._opened()
        return None if forest is None else forest.times

    @smproperty.dataarrayselection(name="Fields")
    def GetFieldSelection(self):
        """Which fields are read."""
        return self._fields

    def RequestInformation(self, request, inputs, outputs):
        """The times, and the names of the fields."""
        forest = self._opened()
        if forest is None:
            return 0
        information = outputs.GetInformationObject(0)
        information.Set(VTKPythonAlgorithmBase.CAN_HANDLE_PIECE_REQUEST(), 1)
        information.Remove(Pipeline.TIME_STEPS())
        for time in forest.times:
            information.Append(Pipeline.TIME_STEPS(), time)
        information.Remove(Pipeline.TIME_RANGE())
        information.Append(Pipeline.TIME_RANGE(), min(forest.times))
        information.Append(Pipeline.TIME_RANGE(), max(forest.times))
        for name in (*forest.fields, "level", "tree"):
            if not self._fields.ArrayExists(name):
                self._fields.EnableArray(name)
        return 1

    def RequestData(self, request, inputs, outputs):
        """The cells at a time."""
        forest = self._opened()
        if forest is None:
            return 0
        information = outputs.GetInformationObject(0)
        output = vtkUnstructuredGrid.GetData(outputs, 0)
        step = forest[self._step(forest, information)]
        count = len(step.mesh)
        piece, pieces = (
            information.Get(key()) if information.Has(key()) else otherwise
            for key, otherwise in ((Pipeline.UPDATE_PIECE_NUMBER, 0), (Pipeline.UPDATE_NUMBER_OF_PIECES, 1))
        )
        pieces = max(pieces, 1)
        self._fill(output, forest, step, count * piece // pieces, count * (piece + 1) // pieces)
        output.GetInformation().Set(vtkDataObject.DATA_TIME_STEP(), step.time)
        return 1

    def _step(self, forest, information):
        """The step with the time that is asked for, otherwise the last one before it."""
        if not information.Has(Pipeline.UPDATE_TIME_STEP()):
            return 0
        wanted = information.Get(Pipeline.UPDATE_TIME_STEP())
        times = np.array(forest.times)
        before = np.flatnonzero(times <= wanted)
        return int(before[np.argmax(times[before])]) if len(before) else int(np.argmin(times))

    def _fill(self, output, forest, step, start, stop):
        mesh = step.mesh
        names = [name for name in dict.fromkeys((*forest.fields, "level", "tree")) if self._fields.ArrayIsEnabled(name)]
        places, corners, widths = [np.empty((0, 3))], [np.empty(0, np.int64)], [np.zeros(1, np.int64)]
        types, before = [np.empty(0, np.uint8)], 0
        for part in mesh.vtk_parts(start, stop, apart=any(map(forest.at_corners, names))):
            places.append(part[0])
            corners.append(part[1] + before)
            widths.append(part[2])
            types.append(part[3])
            before += len(part[0])
        points, cells = vtkPoints(), vtkCellArray()
        points.SetData(numpy_to_vtk(np.concatenate(places), deep=True))
        cells.SetData(
            numpy_to_vtkIdTypeArray(np.cumsum(np.concatenate(widths)), deep=True),
            numpy_to_vtkIdTypeArray(np.concatenate(corners), deep=True),
        )
        output.SetPoints(points)
        output.SetCells(numpy_to_vtk(np.concatenate(types), deep=True), cells)
        for name in names:
            if name in forest.fields:
                field = step.field(name)
                values = None if field is None else unpacked(field)[start:stop]
            else:
                values = mesh.level[start:stop] if name == "level" else mesh.trees(start, stop)
            if values is not None and 0 not in values.shape[1:]:
                data = output.GetCellData()
                if forest.at_corners(name):
                    data, values = output.GetPointData(), values.reshape(-1, *values.shape[2:])
                rows = vtk_values(values)
                array = numpy_to_vtk(rows[:, 0] if rows.shape[1] == 1 else rows, deep=True)
                array.SetName(name)
                data.AddArray(array)

    def _opened(self):
        """The forest; None without a file. A file that has changed is opened anew."""
        if self._path is None:
            return None
        state = os.stat(self._path)
        state = state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns
        if self._forest is None or state != self._state:
            self._close()
            file = scda.open(self._path)
            try:
                self._forest = scda.Forest(file, self._forest_name or None)
            except BaseException:
                file.close()
                raise
            self._file, self._state = file, state
        return self._forest

    def _close(self):
        if self._file is not None:
            self._file.close()
        self._file = self._forest = None

    def _forget(self):
        self._close()
        self._fields.RemoveAllArrays()
        self.Modified()
