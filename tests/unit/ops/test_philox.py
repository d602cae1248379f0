"""Philox and what is made of it: known answers of its authors, one way against another, functions against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from situs._src.base.streams import COUNTERS, Again, Position, Stream, of_seeds
from situs._src.ops.index_shuffle import permuted
from situs._src.ops.philox import card, compiled, draw, floats, rejection, sequence
from situs._src.ops.philox.words import Placed, block, scrambled, words, words_at

CPU = torch.device("cpu")
FAR = Position(2**64 - 1, COUNTERS - 3)
CARRY = Position(7, 2**64 - 2)
PLACES = [Position(0, 0), FAR, CARRY, Position(2**63, 2**127), scrambled(1, 2)]
ANSWERS = [  # of the authors' implementation, Random123: counter, key, block
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def number(text):
    return sum(int(word, 16) << 32 * place for place, word in enumerate(text.split()))


@pytest.fixture(params=["compiled", "portable"])
def way(request, monkeypatch):
    if request.param == "portable":
        monkeypatch.setenv("SITUS_NO_COMPILER", "1")
    elif compiled.functions() is None:
        pytest.skip("no C compiler")


@pytest.mark.parametrize(("counter", "key", "expected"), ANSWERS)
def test_blocks_are_the_known_ones(way, counter, key, expected):
    begin = Position(number(key), number(counter))
    wanted = [int(word, 16) for word in expected.split()]
    assert list(block(begin)) == wanted
    assert words(begin, 1, CPU).tolist() == [wanted]
    assert words_at(begin, torch.tensor([0])).tolist() == [wanted]


@pytest.mark.parametrize("begin", PLACES)
def test_a_block_is_a_function_of_its_place(way, begin):
    offsets = [0, 1, 2, 3, 130, 2**33, 2**62]
    expected = [list(block(begin.skip(offset))) for offset in offsets]
    assert words_at(begin, torch.tensor(offsets)).tolist() == expected
    assert words(begin, 131, CPU)[[0, 1, 2, 3, 130]].tolist() == expected[:5]


@pytest.mark.parametrize("begin", PLACES)
@pytest.mark.parametrize("what", ["uniform", "normal", "truncated_normal"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_every_way_draws_the_same(monkeypatch, begin, what, dtype):
    if compiled.functions() is None:
        pytest.skip("no C compiler")
    found = getattr(draw, what)((1027,), dtype, begin, CPU)
    monkeypatch.setenv("SITUS_NO_COMPILER", "1")
    assert torch.equal(found, getattr(draw, what)((1027,), dtype, begin, CPU))


@pytest.mark.parametrize("what", ["uniform", "normal", "truncated_normal"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_smaller_tensor_begins_a_larger_one(way, what, dtype):
    large = getattr(draw, what)((517,), dtype, CARRY, CPU)
    for count in (0, 1, 2, 3, 4, 5, 511, 512, 513):
        assert torch.equal(getattr(draw, what)((count,), dtype, CARRY, CPU), large[:count])
    assert torch.equal(getattr(draw, what)((11, 47), dtype, CARRY, CPU), large.reshape(11, 47))


def spacing(expected):
    return np.spacing(np.abs(expected.astype(np.float32))).astype(np.float64)


def test_the_logarithm_is_within_an_ulp():
    x = torch.cat([torch.linspace(1e-7, 1.0, 200_001)[:-1], torch.logspace(-7, 0, 50_001)[:-1]])
    expected = np.log(x.double().numpy())
    assert (np.abs(floats.log32(x).double().numpy() - expected) <= 0.85 * spacing(expected)).all()


def test_sine_and_cosine_are_within_an_ulp():
    x = torch.linspace(0, 6.2831850, 400_001)
    wide = x.double().numpy()
    for found, expected in zip(floats.sine_and_cosine32(x), (np.sin(wide), np.cos(wide)), strict=True):
        assert (np.abs(found.double().numpy() - expected) <= 0.6 * spacing(expected)).all()


@pytest.mark.parametrize(("dtype", "bits"), [(torch.float16, 10), (torch.bfloat16, 7), (torch.float32, 23)])
def test_unit_numbers_have_the_bits_of_their_fraction(dtype, bits):
    drawn = draw.uniform((5000,), dtype, CARRY, CPU).double()
    assert 0 <= drawn.min() < drawn.max() < 1
    assert torch.equal(drawn * 2**bits, torch.floor(drawn * 2**bits))


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-5, 7), (-(2**63), 2**63 - 1), (0, 2**31), (3, 2**31 + 2)])
def test_integers_are_bits_modulo_the_width(way, low, high):
    drawn = draw.integers((100,), low, high, torch.int64, CARRY, CPU).tolist()
    pairs = words(CARRY, 50, CPU).reshape(-1, 2).tolist()
    assert drawn == [low + (first + (second << 32)) % (high - low) for first, second in pairs]
    if high - low < 2**32 and high <= 2**31 - 1:
        narrow = draw.integers((100,), low, high, torch.int32, CARRY, CPU).tolist()
        assert narrow == [low + word % (high - low) for word in words(CARRY, 25, CPU).reshape(-1).tolist()]


def test_a_permutation_swaps_by_words():
    assert sorted(draw.permutation(1000, CARRY).tolist()) == list(range(1000))
    order, drawn = list(range(7)), words(FAR, 2, CPU).reshape(-1).tolist()
    for place in range(6):
        other = place + drawn[place] % (7 - place)
        order[place], order[other] = order[other], order[place]
    assert draw.permutation(7, FAR).tolist() == order


def test_words_come_one_after_the_other(way):
    expected = words(CARRY, 300, CPU).reshape(-1).tolist()
    one = sequence.Words(CARRY)
    assert [one.next() for _ in range(1200)] == expected
    assert one.taken == 1200
    later = sequence.Words(CARRY, 333)
    assert [later.next() for _ in range(9)] == expected[333:342]
    assert sequence.Words(CARRY).below(10) == expected[0] % 10
    numbers = sequence.doubles(CARRY, 0, 21)
    assert np.array_equal(sequence.doubles(CARRY, 5, 9), numbers[5:14])
    assert sequence.pairs(CARRY, 3, 2).tolist() == [
        expected[6] + (expected[7] << 32),
        expected[8] + (expected[9] << 32),
    ]


def test_exact_integers_leave_out_the_words_that_favour_some(monkeypatch):
    given = iter([3, 5, 2**31 - 1, 2**31, 12])
    source = sequence.Words(CARRY)
    monkeypatch.setattr(sequence.Words, "next", lambda self: next(given))
    count = 2**31 + 1  # 2**32 modulo it is 2**31 - 1
    assert source.exactly_below(count) == 2**31 - 1
    assert source.exactly_below(count) == 2**31
    assert source.exactly_below(8) == 4  # a power of two favours none


def test_streams_move_on_and_wrap_around():
    stream = Stream(of_seeds(-1, 3))
    assert of_seeds(-1, 3) == Position(2**64 - 1, 3 * 2**64)
    assert stream.reserve(5) == of_seeds(-1, 3)
    assert stream.reserve(1).counter == 3 * 2**64 + 5
    again = Again(stream)
    assert again.reserve(9) == again.reserve(9) == Position(2**64 - 1, 3 * 2**64 + 6)
    assert stream.reserve(0).counter == 3 * 2**64 + 15
    assert FAR.skip(5) == Position(2**64 - 1, 2)


def test_each_sample_of_a_rejection_has_blocks_of_its_own():
    """Samples of a parameter do not depend on the others' parameters, nor on how many they take."""
    rates = torch.tensor([0.5, 30.0, 4.0])
    together = rejection.poisson((40,), rates, CARRY)
    for place, rate in enumerate(rates):
        alone = rejection.poisson((40,), rate, CARRY.skip(256 * 40 * place))
        assert torch.equal(together[:, place], alone)
    alphas = torch.tensor([0.3, 1.0, 5.0])
    together = rejection.gamma((40,), alphas, CARRY)
    for place, alpha in enumerate(alphas):
        assert torch.equal(together[:, place], rejection.gamma((40,), alpha, CARRY.skip(256 * 40 * place)))


@pytest.mark.parametrize("highest", [1, 2, 5, 255, 256, 70_000])
def test_an_index_shuffle_is_a_permutation(highest):
    index = np.arange(highest + 1, dtype=np.uint64)
    found = permuted(index, (498247692, 3, -7), highest)
    assert np.array_equal(np.sort(found), index)
    if highest > 100:
        assert (found != index).mean() > 0.9
    assert permuted(index[:1], (1, 2, 3), 0).tolist() == [0]


def test_a_card_without_triton_is_served_by_pytorch(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(card, "_found", card._UNASKED)
    monkeypatch.setattr(card.importlib, "import_module", missing)
    assert card.functions() is None
    assert card._found is None


def signed(word):
    return word - 2**64 if word >= 2**63 else word


def in_memory(begin):
    """A position in memory."""
    return Placed(
        torch.tensor([signed(each) for each in (begin.key, begin.counter % 2**64, begin.counter // 2**64)]), False
    )


@pytest.mark.parametrize("begin", PLACES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_a_position_in_memory_is_read_there(begin, dtype):
    placed = in_memory(begin)
    for what in ("uniform", "normal", "truncated_normal"):
        found, expected = (getattr(draw, what)((103,), dtype, each, CPU) for each in (placed, begin))
        assert torch.equal(found, expected)
    offsets = torch.tensor([[0, 1], [2**33, 2**62]])
    assert torch.equal(words_at(placed, offsets), words_at(begin, offsets))
    assert torch.equal(words(placed, 5, CPU), words(begin, 5, CPU))
    assert torch.equal(
        draw.integers((9,), -5, 50, torch.int64, placed, CPU), draw.integers((9,), -5, 50, torch.int64, begin, CPU)
    )
    assert torch.equal(draw.bits((9,), torch.int32, placed, CPU), draw.bits((9,), torch.int32, begin, CPU))


@pytest.mark.parametrize("seed", [(1, 2), (-5, 2**40), (2**63 - 1, -(2**63)), (0, 0)])
def test_a_seed_in_memory_is_scrambled_there(seed):
    placed, begin = Placed(torch.tensor(seed), True), scrambled(*seed)
    assert placed.position().tolist() == in_memory(begin).words.tolist()
    assert torch.equal(draw.normal((31,), torch.float32, placed, CPU), draw.normal((31,), torch.float32, begin, CPU))
    assert torch.equal(words(placed, 3, CPU), words(begin, 3, CPU))
    assert list(block(Position(2**57 + 1, 5))) == words(Position(2**57 + 1, 5), 1, CPU)[0].tolist()
