"""Files are whole or untouched, and what the operating system refuses is one line that says what to do."""

import errno
import json
import os
from pathlib import Path

import pytest

from recombine import files
from recombine.errors import RunFailed, UserError
from recombine.files import append_rows, explained, read_rows, write_json, write_whole


def refuse(number):
    def fail(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    return fail


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_exit_statuses():
    assert UserError("x").exit_status == 2
    assert RunFailed("x").exit_status == 1
    assert issubclass(RunFailed, UserError)  # who shows one as a line shows the other too


def test_write_whole_makes_folders_and_replaces(tmp_path):
    path = tmp_path / "a" / "b" / "file"
    write_whole(path, "old")
    write_whole(path, b"\x00new\xff")
    assert path.read_bytes() == b"\x00new\xff"
    write_whole(path, "größer")
    assert path.read_bytes() == "größer".encode()
    assert names(path.parent) == ["file"]


def test_write_json_can_be_read_back(tmp_path):
    value = {"a": [1, 2.5, None], "b": {"c": "é"}}
    write_json(tmp_path / "x.json", value)
    text = (tmp_path / "x.json").read_text()
    assert json.loads(text) == value
    assert text.endswith("}\n")


@pytest.mark.parametrize("call", ["replace", "fsync"])
@pytest.mark.parametrize("existed", [True, False])
def test_a_full_disk_keeps_the_old_file(tmp_path, monkeypatch, call, existed):
    path = tmp_path / "state"
    if existed:
        write_whole(path, "old")
    monkeypatch.setattr(os, call, refuse(errno.ENOSPC))
    with pytest.raises(RunFailed, match="the disk is full") as caught:
        write_whole(path, "new")
    monkeypatch.undo()
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert names(tmp_path) == (["state"] if existed else [])
    if existed:
        assert path.read_text() == "old"
    write_whole(path, "newer")  # and the way is free again
    assert path.read_text() == "newer"


def test_a_disk_that_fills_while_writing_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "state"
    write_whole(path, "old")
    real = open

    def open_full(name, mode="r", *args, **kwargs):
        file = real(name, mode, *args, **kwargs)
        if "w" in mode:
            file.write(b"ne")  # a part arrives, then no more
            file.close()
            refuse(errno.ENOSPC)()
        return file

    monkeypatch.setattr(files, "open", open_full, raising=False)
    with pytest.raises(RunFailed, match="the disk is full"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["state"]


def test_an_interrupt_leaves_no_temporary_file(tmp_path, monkeypatch):
    path = tmp_path / "state"
    write_whole(path, "old")

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["state"]


def test_data_are_on_disk_before_the_rename_and_the_folder_after(tmp_path, monkeypatch):
    calls = []
    sync, rename = os.fsync, os.replace

    def fsync(handle):
        calls.append("sync folder" if os.path.isdir(f"/proc/self/fd/{handle}") else "sync file")
        sync(handle)

    def replace(old, new):
        calls.append("rename")
        assert Path(old).read_text() == "new"
        rename(old, new)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    write_whole(tmp_path / "state", "new")
    assert calls == ["sync file", "rename", "sync folder"]


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "quota"),
        (errno.EACCES, "no permission to write there: choose another folder with --store"),
        (errno.EPERM, "no permission"),
        (errno.EROFS, "read-only"),
        (errno.EIO, os.strerror(errno.EIO)),
    ],
)
def test_errors_of_the_system_are_one_line(tmp_path, number, advice):
    with pytest.raises(RunFailed) as caught, explained(tmp_path / "x"):
        refuse(number)()
    assert advice in str(caught.value)
    assert str(tmp_path / "x") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_explained_lets_other_errors_pass(tmp_path):
    with pytest.raises(ValueError, match="mine"), explained(tmp_path):
        raise ValueError("mine")


@pytest.mark.parametrize("below", ["x", "deeper/x"])
def test_a_folder_that_is_a_file(tmp_path, below):
    (tmp_path / "file").write_text("kept")
    for write in (lambda path: write_whole(path, "new"), lambda path: append_rows(path, [{"a": 1}])):
        with pytest.raises(RunFailed, match="is a file, not a folder: choose another folder with --store"):
            write(tmp_path / "file" / below)
    assert (tmp_path / "file").read_text() == "kept"


def test_rows_round_trip(tmp_path):
    path = tmp_path / "new" / "rows.jsonl"
    assert read_rows(path) == []
    first, second = [{"a": 1, "text": "é\u2028\n"}, {"a": None}], [{"a": 0.1 + 0.2}]
    append_rows(path, first)
    append_rows(path, second)
    append_rows(path, [])
    assert read_rows(path) == first + second
    assert path.read_text().count("\n") == 3


@pytest.mark.parametrize("cut", range(1, 13))
def test_a_torn_last_line_is_left_out(tmp_path, cut):
    path = tmp_path / "rows.jsonl"
    append_rows(path, [{"a": 1}, {"a": 2}, {"bb": 3.25}])
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    expected = [{"a": 1}, {"a": 2}] + ([{"bb": 3.25}] if cut == 1 else [])  # only the line's end was lost
    assert read_rows(path) == expected


def test_rows_after_a_torn_line_are_not_lost(tmp_path):
    path = tmp_path / "rows.jsonl"
    append_rows(path, [{"a": 1}])
    with open(path, "a") as file:
        file.write('{"torn": ')
    append_rows(path, [{"a": 2}])
    append_rows(path, [{"a": 3}])
    assert read_rows(path)[-1] == {"a": 3}


def test_appending_to_a_full_disk_is_one_line(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    append_rows(path, [{"a": 1}])
    monkeypatch.setattr(os, "fsync", refuse(errno.ENOSPC))
    with pytest.raises(RunFailed, match="the disk is full"):
        append_rows(path, [{"a": 2}])
    assert read_rows(path)[0] == {"a": 1}
