"""The loop observes every milestone once, loses no neighbour of a failed replica, and saves when it should."""

import signal
from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch

from recombine.denoisers.configs import UNetConfig
from recombine.denoisers.network import NetworkDenoiser
from recombine.denoisers.unet import UNet
from recombine.diffusion.schedules import LinearSchedule
from recombine.errors import RunFailed
from recombine.seeds import torch_seeded
from recombine.training import loop
from recombine.training.execution import Execution
from recombine.training.loop import Trainee, train
from recombine.training.replica import Replica, TrainingConfig
from recombine.worlds.shapes import ShapesWorld
from recombine.worlds.splits import design, make_pool


class Clock:
    """Time that passes only when a replica steps."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now


class Dummy:
    """A replica that only counts. `fails_at` loses its loss there; `interrupts_at` is where Ctrl-C is pressed."""

    def __init__(self, batch=4, start=0, clock=None, seconds=0.0, fails_at=None, interrupts_at=None):
        self.config = SimpleNamespace(batch=batch)
        self.images_seen = start
        self.seen = torch.zeros(())
        self.clock, self.seconds = clock, seconds
        self.fails_at, self.interrupts_at = fails_at, interrupts_at
        self.prepared = self.steps = self.losses_taken = 0
        self.whole = True

    def prepare(self):
        self.prepared += 1

    def step(self):
        assert self.prepared == 1
        if self.images_seen == self.interrupts_at:
            raise KeyboardInterrupt
        self.images_seen += self.config.batch
        self.steps += 1
        if self.clock:
            self.clock.now += self.seconds

    def take_loss(self):
        self.losses_taken += 1
        if self.fails_at is not None and self.images_seen >= self.fails_at:
            raise RunFailed(f"the loss became nan near {self.images_seen}")
        return 1 / self.losses_taken


class Diary:
    """A trainee that writes down what happens to it, in one list that several may share."""

    def __init__(self, replica, milestones, name="", events=None):
        self.replica, self.events = replica, [] if events is None else events
        self.trainee = Trainee(replica, milestones, self.note("observe", name), self.save, self.report)
        self.saved, self.reports = [], []

    def note(self, what, name):
        def observe(seen):
            assert seen == self.replica.images_seen
            self.events.append((what, name, seen))

        return observe

    def save(self):
        self.saved.append(self.replica.images_seen)

    def report(self, seen, loss):
        self.reports.append((seen, loss))

    def observed(self, name=""):
        return [seen for _, who, seen in self.events if who == name]


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(loop, "time", clock)
    return clock


def test_every_milestone_once_and_in_order():
    events = []
    a = Diary(Dummy(batch=4), [4, 8, 40, 400], "a", events)
    b = Diary(Dummy(batch=6, start=12), [6, 12, 18, 600, 1200], "b", events)
    train([a.trainee, b.trainee])
    assert a.observed("a") == [4, 8, 40, 400]
    assert b.observed("b") == [18, 600, 1200]  # those at or before its start are behind it
    assert (a.replica.steps, b.replica.steps) == (100, 198)  # the one that is done is not stepped further
    assert (a.replica.images_seen, b.replica.images_seen) == (400, 1200)


@pytest.mark.parametrize("seconds", [0.0, 0.01, 10.0])
def test_no_speed_makes_it_step_over_a_milestone(clock, seconds):
    milestones = [1, 2, 3, 50, 51, 499, 500]
    diary = Diary(Dummy(batch=1, clock=clock, seconds=seconds), milestones)
    train([diary.trainee], save_seconds=1e9)
    assert diary.observed() == milestones
    assert diary.saved == []


def test_it_reports_about_twice_a_second(clock):
    diary = Diary(Dummy(batch=1, clock=clock, seconds=0.01), [10_000])
    train([diary.trainee], save_seconds=1e9)
    reports = [0, *(seen for seen, _ in diary.reports)]
    strides = [later - earlier for earlier, later in pairwise(reports)]
    assert strides[:6] == [1, 2, 4, 8, 16, 32]  # careful at first: a step may be slow
    assert set(strides[6:-1]) == {50}  # half a second of hundredths


def test_slow_steps_are_reported_one_by_one(clock):
    diary = Diary(Dummy(batch=1, clock=clock, seconds=3.0), [20])
    train([diary.trainee], save_seconds=1e9)
    assert [seen for seen, _ in diary.reports] == list(range(1, 21))


def test_losses_are_reported(clock):
    diary = Diary(Dummy(batch=2, clock=clock, seconds=1.0), [6])
    train([diary.trainee])
    assert diary.reports == [(2, 1.0), (4, 1 / 2), (6, 1 / 3)]


def test_nothing_to_do():
    done = Diary(Dummy(start=8), [4, 8])
    train([done.trainee])
    train([])
    assert (done.replica.steps, done.events, done.saved) == (0, [], [])


@pytest.mark.parametrize(
    ("seen", "batch", "left"), [(0, 4, 2), (4, 4, 1), (8, 4, 3), (20, 4, 0), (24, 4, 0), (0, 3, 3), (18, 8, 1)]
)
def test_steps_left(seen, batch, left):
    assert Diary(Dummy(batch=batch, start=seen), [8, 20]).trainee.steps_left == left


@pytest.mark.parametrize("failing", [0, 1])
def test_a_lost_replica_leaves_and_the_others_are_finished(failing):
    events = []
    lost = Diary(Dummy(fails_at=24), [8, 40, 400], "lost", events)
    well = Diary(Dummy(), [8, 40, 400], "well", events)
    fleet = [well.trainee, lost.trainee] if failing else [lost.trainee, well.trainee]
    with pytest.raises(RunFailed, match="the loss became nan"):
        train(fleet, save_seconds=0)
    assert lost.observed("lost") == [8]
    assert lost.replica.images_seen < 60  # it left at the next report
    assert max(lost.saved, default=0) < 24  # and is not saved with its loss lost
    assert well.observed("well") == [8, 40, 400]
    assert well.replica.images_seen == 400


def test_a_failure_while_observing_counts_as_lost():
    def disk_full(seen):
        raise RunFailed("cannot write: the disk is full")

    lost, well = Diary(Dummy(), [8, 80]), Diary(Dummy(), [8, 80])
    refused = Trainee(lost.replica, [8, 80], disk_full, lost.save, lost.report)
    with pytest.raises(RunFailed, match="the disk is full"):
        train([refused, well.trainee])
    assert lost.replica.images_seen == 8
    assert well.observed() == [8, 80]


def test_all_lost_ends_at_once():
    both = [Diary(Dummy(fails_at=4), [4_000]) for _ in range(2)]
    with pytest.raises(RunFailed):
        train([diary.trainee for diary in both])
    assert all(diary.replica.images_seen < 4_000 for diary in both)


def test_other_errors_are_not_swallowed():
    diary = Diary(Dummy(), [8])
    broken = Trainee(diary.replica, [8], lambda seen: 1 / 0, diary.save, diary.report)
    with pytest.raises(ZeroDivisionError):
        train([broken])
    assert diary.saved == []


def test_ctrl_c_saves_all_and_goes_on_up():
    stopped, other = Diary(Dummy(interrupts_at=20), [8, 400]), Diary(Dummy(), [8, 400])
    with pytest.raises(KeyboardInterrupt):
        train([other.trainee, stopped.trainee], save_seconds=1e9)
    assert stopped.saved == [20]
    assert other.saved == [other.replica.images_seen]
    assert stopped.observed() == [8]


def test_ctrl_c_does_not_save_what_was_lost():
    stopped, lost = Diary(Dummy(interrupts_at=400), [4_000]), Diary(Dummy(fails_at=8), [4_000])
    with pytest.raises(KeyboardInterrupt):
        train([stopped.trainee, lost.trainee], save_seconds=1e9)
    assert stopped.saved == [400]
    assert lost.saved == []


def test_saves_by_time(clock):
    diary = Diary(Dummy(batch=1, clock=clock, seconds=1.0), [11])
    train([diary.trainee], save_seconds=3.5)
    assert diary.saved == [4, 8]


def test_no_seconds_saves_at_every_report(clock):
    a, b = (Diary(Dummy(batch=1, clock=clock, seconds=0.5, fails_at=at), [100]) for at in (None, 5))
    with pytest.raises(RunFailed):
        train([a.trainee, b.trainee], save_seconds=0)
    assert a.saved[:99] == list(range(1, 100))
    assert b.saved == [1, 2, 3, 4]


def test_a_finished_trainee_is_not_saved_again(clock):
    diary = Diary(Dummy(batch=1, clock=clock, seconds=1.0), [4])
    train([diary.trainee], save_seconds=3.5)
    assert diary.saved == []


def test_a_refused_checkpoint_counts_as_lost(clock):
    lost, well = (Diary(Dummy(batch=1, clock=clock, seconds=1.0), [9]) for _ in range(2))

    def refuse():
        raise RunFailed("weights became infinite or NaN")

    refused = Trainee(lost.replica, [9], lambda seen: None, refuse, lost.report)
    with pytest.raises(RunFailed, match="weights became infinite"):
        train([refused, well.trainee], save_seconds=2)
    assert well.observed() == [9]


def test_ctrl_c_saves_the_others_when_one_is_refused():
    def refuse():
        raise RunFailed("weights became infinite or NaN")

    lost, well = Diary(Dummy(), [400]), Diary(Dummy(interrupts_at=20), [400])
    with pytest.raises((KeyboardInterrupt, RunFailed)):
        train([Trainee(lost.replica, [400], lambda seen: None, refuse, lost.report), well.trainee], save_seconds=1e9)
    assert well.saved == [20]


def make_replica():
    world = ShapesWorld(pixels=8, position_jitter=0.0)
    with torch_seeded(0):
        network = UNet(UNetConfig(channels=8, multipliers=(1, 2)), world.image_shape, world.condition_widths)
    pool = make_pool(world, design("H32-train1").replace(count=8), 0)
    config = TrainingConfig(images=24, batch=4, ema_images=8)
    return Replica(NetworkDenoiser(network, "noise"), pool, LinearSchedule(), config, 0, Execution())


def copied(replica):
    return {name: tensor.clone() for name, tensor in replica.tensors().items()}


def trained(replica, saves=None):
    keep = saves if saves is not None else []
    train([Trainee(replica, [8, 24], lambda seen: None, lambda: keep.append(copied(replica)), lambda *news: None)])
    return copied(replica)


def interrupted(replica, owner, method, before=False):
    """What Ctrl-C saves, if anything, when it comes right after (or before) the third call of a method."""
    calls, saves, real = [], [], getattr(owner, method)

    def call(*args, **kwargs):
        calls.append(method)
        if len(calls) == 3 and before:
            raise KeyboardInterrupt
        real(*args, **kwargs)
        if len(calls) == 3:
            raise KeyboardInterrupt

    setattr(owner, method, call)
    with pytest.raises(KeyboardInterrupt):
        trained(replica, saves)
    return saves


def test_ctrl_c_between_steps_changes_nothing():
    replica = make_replica()
    (saved,) = interrupted(replica, replica, "step")
    resumed = make_replica()
    resumed.restore(saved)
    assert resumed.images_seen == 12
    whole = trained(make_replica())
    for name, tensor in trained(resumed).items():
        assert torch.equal(tensor, whole[name]), name


@pytest.mark.parametrize("moment", ["after the update", "before the average"])
def test_ctrl_c_inside_a_step_changes_nothing(moment):
    replica = make_replica()
    if moment == "after the update":
        saves = interrupted(replica, replica.optimizer, "step")
    else:
        saves = interrupted(replica, replica, "_update_average", before=True)
    resumed = make_replica()
    for saved in saves:  # an older checkpoint, or none, would do as well
        resumed.restore(saved)
    whole = trained(make_replica())
    for name, tensor in trained(resumed).items():
        assert torch.equal(tensor, whole[name]), name


def test_a_job_that_is_deaf_to_ctrl_c_stays_deaf():
    """As nohup and background jobs ask: what was ignored is not listened to while training."""
    handlers = []
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        diary = Diary(Dummy(), [8])
        watch = Trainee(
            diary.replica, [8], lambda seen: handlers.append(signal.getsignal(signal.SIGINT)), diary.save, diary.report
        )
        train([watch])
    finally:
        signal.signal(signal.SIGINT, before)
    assert handlers == [signal.SIG_IGN]
