"""Resized faces are cached once, mapped read-only, made again where they do not fit; no half cache is used."""

import errno
import json
import os
import shutil
import signal
import threading

import numpy as np
import pytest

from recombine.errors import RunFailed
from recombine.worlds import celeba, image_cache
from recombine.worlds.celeba import resized_images
from support.small_celeba import make_celeba, name_of, names_up_to, number_of


@pytest.fixture
def folder(tmp_path):
    """Twenty images of one's own, to be cached and damaged."""
    return make_celeba(tmp_path / "celeba", count=20)


@pytest.fixture
def resizings(monkeypatch):
    """The number of images resized so far, one entry each."""
    calls, real = [], celeba._resize

    def counted(data, pixels):
        calls.append(pixels)
        return real(data, pixels)

    monkeypatch.setattr(celeba, "_resize", counted)
    return calls


def complaint(folder):
    with pytest.raises(RunFailed) as caught:
        resized_images(folder, names_up_to(3), "", 8)
    assert type(caught.value) is RunFailed
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_images_are_mapped_read_only_from_a_plain_file_with_a_record(folder):
    images = resized_images(folder, names_up_to(5), "a digest", 12)
    assert isinstance(images, np.memmap)
    assert images.dtype == np.uint8
    with pytest.raises(ValueError, match="read-only"):
        images[0] = 0
    cache = folder / "recombine-cache"
    assert np.array_equal(np.load(cache / "faces-12.npy"), images)
    record = json.loads((cache / "faces-12.json").read_text())
    assert (record["count"], record["pixels"], record["attributes_sha256"]) == (5, 12, "a digest")
    assert (record["first_image"], record["last_image"]) == ("000001.jpg", "000005.jpg")


def test_a_cache_is_made_once_and_then_needs_no_images(folder, resizings):
    first = resized_images(folder, names_up_to(6), "one", 8)
    shutil.rmtree(folder / "img_align_celeba")
    assert np.array_equal(resized_images(folder, names_up_to(6), "one", 8), first)
    assert len(resizings) == 6


@pytest.mark.parametrize("change", ["digest", "names", "short array", "other array", "empty array", "record", "torn"])
def test_a_cache_that_does_not_fit_is_made_again(folder, resizings, change):
    names, digest = names_up_to(6), "one"
    before = np.array(resized_images(folder, names, digest, 8))
    array, record = (folder / "recombine-cache" / f"faces-8.{suffix}" for suffix in ("npy", "json"))
    if change == "digest":
        digest = "two"
    elif change == "names":
        names = [*names[:4], name_of(9), names[5]]
    elif change == "short array":
        os.truncate(array, array.stat().st_size - 1)
    elif change == "other array":
        np.save(array, before[:5])
    elif change == "empty array":
        array.write_bytes(b"")
    elif change == "record":
        record.unlink()
    else:
        record.write_text(record.read_text()[:-20])
    images = resized_images(folder, names, digest, 8)
    assert len(resizings) == 12
    assert [number_of(image) for image in images] == [int(name[:6]) for name in names]
    resized_images(folder, names, digest, 8)
    assert len(resizings) == 12


def test_a_caching_killed_half_way_leaves_nothing_that_counts(folder, resizings, monkeypatch):
    old = np.array(resized_images(folder, names_up_to(6), "old", 8))
    cache, counted = folder / "recombine-cache", celeba._resize

    def killed(data, pixels):
        if len(resizings) == 6 + 3:
            raise KeyboardInterrupt
        return counted(data, pixels)

    monkeypatch.setattr(celeba, "_resize", killed)
    with pytest.raises(KeyboardInterrupt):
        resized_images(folder, names_up_to(6), "new", 8)
    assert sorted(path.name for path in cache.iterdir()) == ["faces-8.json", "faces-8.npy", "lock"]
    assert np.array_equal(resized_images(folder, names_up_to(6), "old", 8), old)  # what was whole still is
    assert len(resizings) == 9
    monkeypatch.setattr(celeba, "_resize", counted)
    images = resized_images(folder, names_up_to(6), "new", 8)
    assert [number_of(image) for image in images] == [1, 2, 3, 4, 5, 6]
    assert len(resizings) == 15


def test_a_caching_killed_without_warning(folder, resizings, monkeypatch):
    counted = celeba._resize
    cache = folder / "recombine-cache"

    def killed(data, pixels):
        if len(resizings) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return counted(data, pixels)

    child = os.fork()
    if child == 0:
        try:
            monkeypatch.setattr(celeba, "_resize", killed)
            resized_images(folder, names_up_to(6), "one", 64)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert sorted(path.name for path in cache.iterdir()) == ["faces-64.part", "lock"]
    images = resized_images(folder, names_up_to(6), "one", 64)
    assert [number_of(image) for image in images] == [1, 2, 3, 4, 5, 6]
    assert len(resizings) == 6
    assert sorted(path.name for path in cache.iterdir()) == ["faces-64.json", "faces-64.npy", "lock"]


def test_an_array_without_its_record_does_not_count(folder, resizings, monkeypatch):
    """Killed between the two renames, when the new array is there and the old record would still fit the old one."""
    resized_images(folder, names_up_to(6), "old", 8)

    def killed(path, value):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(image_cache, "write_json", killed)
        with pytest.raises(KeyboardInterrupt):
            resized_images(folder, [name_of(number) for number in (9, 8, 7, 6, 5, 4)], "new", 8)
    images = resized_images(folder, names_up_to(6), "old", 8)
    assert [number_of(image) for image in images] == [1, 2, 3, 4, 5, 6]
    assert len(resizings) == 18


def test_two_at_once_make_one_cache(folder, resizings):
    seen = []
    threads = [
        threading.Thread(target=lambda: seen.append(resized_images(folder, names_up_to(20), "one", 8)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(resizings) == 20
    assert [number_of(image) for image in seen[2]] == list(range(1, 21))


def test_a_cache_that_cannot_be_written_is_one_line(folder, monkeypatch):
    (folder / "recombine-cache").write_text("a file where the folder should be")
    message = complaint(folder)
    assert message.startswith(f"cannot write {folder / 'recombine-cache'}: File exists; ")
    assert "make the folder writable" in message
    (folder / "recombine-cache").unlink()

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        message = complaint(folder)
        assert "No space left on device" in message
    assert [path.name for path in (folder / "recombine-cache").iterdir()] == ["lock"]
    assert len(resized_images(folder, names_up_to(3), "", 8)) == 3
