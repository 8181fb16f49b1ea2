"""What no theorem on views, on who takes part and on several reports covers is refused, with what to ask instead.

The same words are refused wherever they can be said: in Python, on the command line, and in files.
"""

import pytest

import symamp as sa
from symamp.errors import SymampError
from tests.command import run

FAMILY = sa.RandomizedResponse(k=3)
RR, CODE = FAMILY.at(eps0=1), sa.UnaryEncoding.oue(D=3, eps0=1)
CROWD = sa.heterogeneous([(3, RR), (2, FAMILY.at(eps0=2))], shuffled="messages")
MANY, ONE_OF_TWO = sa.joint([RR, RR]), sa.joint([RR, RR], neighbours="one_attribute")
KEPT = sa.several_reports(RR, n=10, reports=3, kept=True)


def ask(mechanism, n=5, **words):
    """Every question in Python, about so many users."""
    at, both = {"n": n} if n is not None else {}, {"eps": 1, "delta": "1/100"}
    yield lambda: sa.delta(mechanism, eps=1, **at, **words)
    yield lambda: sa.epsilon(mechanism, delta="1/100", **at, **words)
    yield lambda: sa.profile(mechanism, **at, **words)
    yield lambda: sa.compare(mechanism, eps=1, **at, **words)
    yield lambda: sa.curve(mechanism, eps=1, **at, **words)
    yield lambda: sa.most_rounds(mechanism, **at, **both, **words)
    yield lambda: sa.least_n(mechanism, **both, **words)
    if mechanism is RR:
        yield lambda: sa.largest_eps0(FAMILY, **at, **both, **words)


VIEW = {"view": "coordinates"}
LOST, LEAKING = sa.participation(dropout="1/5"), sa.participation(leaks="1/10")
VIEWS = [
    # Coordinates that are not independent given the input: subsets, one-hot messages, one seed for all.
    (sa.SubsetSelection(d=4, k=2, eps0=1), VIEW, "take view='messages', which holds for sums"),
    (RR, VIEW, "take view='messages', which holds for sums"),
    (sa.LocalHashing(l=2, D=4, eps0=1), VIEW, "take view='messages', which holds for sums"),
    (sa.HadamardResponse(K=4, eps0=1), VIEW, "not known to be independent"),
    (CODE, {"view": "sums"}, "one of 'messages'"),
    (sa.PureLDP(eps0=1), VIEW, "a unary encoding; or sa.joint"),
    (sa.parallel([("1/2", RR), ("1/2", RR)]), VIEW, "take view='messages', which holds for sums"),
    (ONE_OF_TWO, VIEW, "ask about each part by itself"),
    # Chance shows in all of them at once.
    (CODE, {**VIEW, "participation": LOST}, "by colluders or batches"),
    (CODE, {**VIEW, "participation": LEAKING}, "by colluders or batches"),
    (MANY, {**VIEW, "participation": sa.participation(batches="drawn")}, "by colluders or batches"),
]


@pytest.mark.parametrize(("mechanism", "words", "remedy"), VIEWS, ids=str)
def test_views(mechanism, words, remedy):
    for question in ask(mechanism, **words):
        with pytest.raises(SymampError) as refused:
            question()
        assert remedy in str(refused.value)


@pytest.mark.parametrize(
    ("words", "accepted"),
    [
        ({"p": "1/4", "q": "3/4", "D": 3}, "q < p < 1"),
        ({"p": "1/2", "q": "1/2", "D": 3}, "q < p < 1"),
        ({"p": "3/4", "q": "1/4", "D": 1}, "an integer D >= 2"),
    ],
)
def test_bits_that_say_nothing(words, accepted):
    with pytest.raises(SymampError, match=accepted):
        sa.UnaryEncoding(**words)


PARTICIPATIONS = [
    # The chance to be there is in (0, 1], that of a leak in [0, 1], and both are the same whatever users hold.
    ({"dropout": 1}, "below 1: some other users must take part"),
    ({"dropout": "-1/5"}, "from 0 to 1, the same whatever users hold"),
    ({"dropout": "sqrt(1/2)"}, "rational"),
    ({"leaks": "11/10"}, "from 0 to 1, the same whatever users hold"),
    ({"colluding": 1}, "some other users must take part"),
    # The number of reports shows whether one is missing.
    ({"compared": "removal"}, "give dropout or arrivals='poisson', or take compared='default' or 'replacement'"),
    ({"compared": "removal", "leaks": "1/10"}, "give dropout or arrivals='poisson'"),
    ({"compared": "removal", "colluding": "1/2"}, "give dropout or arrivals='poisson'"),
    ({"compared": "deletion"}, "'replacement', 'removal', 'default'"),
    # How many there are, and who, does not depend on data.
    ({"arrivals": "as the data say"}, "must not depend on the data"),
    ({"colluders": "those who saw the reports"}, "fixed beforehand"),
    ({"colluders": 5}, "make them fewer than the users"),
    ({"batches": "by their data"}, "data must not decide"),
    ({"batches": 6}, "at least 6, the users of the victim's batch"),
    ({"batches": {2: 1}}, "2, the users of all batches"),
    ({"batches": {2: 1, 3: 1}, "colluders": 3}, "take the victim's batch alone"),
    ({"batches": 2, "colluding_share": "1/4"}, "give colluders, or colluding"),
    ({"arrivals": "poisson", "batches": 10}, "take colluding"),
    ({"arrivals": "poisson", "unshuffled": "1/2"}, "take fixed arrivals"),
    ({"compared": "default"}, "give default together"),
    ({"default": "uniform"}, "give default together"),
    ({"compared": "default", "default": {"0": "1/2"}}, "sum to 1"),
    # Who replaces what is lost: of all reports alike, and a report that is replaced is not missing.
    ({"filled": "uniform"}, "give dropout and victim_drops=True"),
    ({"filled": "uniform", "dropout": "1/5"}, "give dropout and victim_drops=True"),
    (
        {"filled": "uniform", "dropout": "1/5", "victim_drops": True, "compared": "removal"},
        "take compared='replacement'",
    ),
    ({"filled": "nothing", "dropout": "1/5", "victim_drops": True}, "'uniform' or an input"),
]


def as_word(value):
    return ";".join(f"{x}:{y}" for x, y in value.items()) if isinstance(value, dict) else str(value)


def as_toml(value):
    table = isinstance(value, dict)
    return "{" + ", ".join(f"{x} = {as_toml(y)}" for x, y in value.items()) + "}" if table else f'"{value}"'


@pytest.mark.parametrize(("who", "remedy"), PARTICIPATIONS, ids=str)
def test_who_takes_part(who, remedy, monkeypatch, capsys, tmp_path):
    with pytest.raises(SymampError) as refused:
        sa.delta(RR, n=5, eps=1, participation=sa.participation(**who))
    assert remedy in str(refused.value)
    file, table = tmp_path / "rounds.toml", f"n = 5\nparticipation = {as_toml(who)}\n"
    file.write_text(f'[[round]]\nmechanism = "krr"\nk = 3\neps0 = 1\nrounds = 2\n{table}')
    swept = tmp_path / "sweep.toml"
    swept.write_text(f'{table}eps = [1]\n[mechanisms.a]\nfamily = "krr"\nk = 3\neps0 = 1\n')
    for command in (["compose", str(file), "--eps", "1"], ["sweep", str(swept)]):
        code, _, told = run(monkeypatch, capsys, *command)
        assert (code, remedy in told) == (2, True), told
    if "default" not in who:  # a law of messages is for files
        words = ",".join(f"{key}={as_word(value)}" for key, value in who.items())
        code, _, told = run(monkeypatch, capsys, "delta", *KRR, "--n", "5", "--eps", "1", "--participation", words)
        assert (code, remedy in told) == (2, True), told


KRR = ("krr", "--k", "3", "--eps0", "1")


def test_noise_without_a_budget_is_told_what_can_be_done():
    """What is said has an answer."""
    noise, lost = sa.Gaussian(sigma=1), sa.participation(dropout="1/5")
    with pytest.raises(SymampError, match=r"leave participation out, say by colluders= .*, or .* sa\.Laplace"):
        sa.delta(noise, n=1000, eps=1, participation=lost)
    assert sa.delta(noise, n=1000, eps=1, participation=sa.participation(colluders=200), method="worst_pair").upper < 1
    assert sa.delta(sa.Laplace(eps0=1), n=1000, eps=1, participation=lost).upper < 1


@pytest.mark.parametrize("n", ["4001/5", 800.2, "as many as the data say", len, {5: 1}, None])
def test_numbers_of_users_are_numbers_and_not_means(n):
    questions = list(ask(RR, "no number" if n is None else n))
    for question in questions[:4] + questions[5:6] + questions[7:]:
        with pytest.raises(SymampError, match=r"^n: "):
            question()
    with pytest.raises(SymampError, match=r"^n: "):
        questions[4]()
    with pytest.raises(SymampError, match=r"^n: "):
        sa.several_reports(RR, n=n, reports=2)
    if isinstance(n, float):
        with pytest.raises(SymampError, match=r"for a random number of users, see sa\.participation"):
            sa.delta(RR, n=n, eps=1)


OF_CROWDS = [
    ({"colluders": 1}, "heterogeneous(..., honest=...)"),
    ({"colluding_share": "1/5"}, "heterogeneous(..., honest=...)"),
    ({"batches": 3}, "give the groups of the victim's batch alone"),
    ({"batches": {2: 1, 3: 1}}, "give the groups of the victim's batch alone"),
    ({"compared": "default", "default": "nobody"}, "'uniform' or an input"),
]


@pytest.mark.parametrize(("who", "remedy"), OF_CROWDS, ids=str)
def test_who_takes_part_of_users_who_differ(who, remedy, monkeypatch, capsys):
    taking = sa.participation(**who)
    questions = list(ask(CROWD, None, participation=taking))
    family = sa.heterogeneous([(3, RR), (2, FAMILY)], shuffled="messages")
    questions += [lambda: sa.largest_eps0(family, eps=1, delta="1/100", participation=taking)]
    for question in (*questions[:2], questions[3], *questions[-2:]):
        with pytest.raises(SymampError) as refused:
            question()
        assert remedy in str(refused.value) or (question is questions[-2] and "leave them out" in str(refused.value))
    if "default" not in who:
        words = ",".join(f"{key}={as_word(value)}" for key, value in who.items())
        groups = ("3:krr:k=3,eps0=1", "2:krr:k=3,eps0=2", "--shuffled", "messages", "--eps", "1")
        code, _, told = run(monkeypatch, capsys, "crowd", *groups, "--participation", words)
        assert (code, remedy in told) == (2, True), told


def test_users_who_differ_of_whom_less_is_known():
    data = sa.heterogeneous([(3, RR), (2, FAMILY.at(eps0=2))], shuffled="data")
    near = sa.FiniteMechanism({x: {"a": p, "b": 1 - p} for x, p in ((0, 0.25), (1, 0.5), (2, 0.75))}).near(1)
    removal = sa.participation(dropout="1/5", compared="removal")
    for question, remedy in (
        (lambda: sa.delta(data, eps=1, participation=LEAKING), "shuffle messages"),
        (lambda: sa.delta(CROWD.taking_part(LEAKING), eps=1, participation=LOST), "give one sa.participation"),
        (lambda: sa.delta(sa.heterogeneous([(3, near)], shuffled="messages"), eps=1, participation=removal), ".near"),
        (lambda: sa.most_rounds(CROWD, eps=1, delta="1/100", sampled_from=100), "leave out sampled_from"),
        (lambda: sa.profile(CROWD).sampled(n=2, of=10), "all users run one randomizer"),
    ):
        with pytest.raises(SymampError) as refused:
            question()
        assert remedy in str(refused.value)


REPORTS = [
    # Numbers of reports, and who attends, do not depend on values; what is kept is no fresh randomness.
    (lambda: sa.several_reports(RR, n=10, reports=[1, 2]), "let all users send the most"),
    (lambda: sa.several_reports(RR, n=10, reports=len), "must not depend on values"),
    (lambda: sa.several_reports(RR, n=10, reports={"yes": 2, "no": 1}), "must not depend on values"),
    (lambda: sa.several_reports(RR, n=10, reports=0), "from 1 to"),
    (lambda: sa.several_reports(RR, n=10, reports=True), "one number for all users"),
    (lambda: sa.several_reports(RR, n=10, reports=2, seen="all"), "one of 'shuffled', 'rounds', 'bundled'"),
    (lambda: sa.several_reports(RR, n=10, reports=2, kept="yes"), "True or False"),
    (lambda: sa.several_reports("coin", n=10, reports=2), "mechanism"),
    (lambda: sa.several_reports(RR, n=10, reports=2, kept=True, attending="those with a value"), "fixed beforehand"),
    (lambda: sa.several_reports(RR, n=10, reports=2, kept=True, attending=11), "up to 10"),
    (lambda: sa.several_reports(RR, n=10, reports=2, attending=3), "give kept=True"),
    (lambda: sa.several_reports(RR, n=10, reports=2, kept=True, seen="bundled"), "'rounds'"),
    (lambda: KEPT.rounds(2), "count all days in reports="),
    (lambda: sa.most_rounds(KEPT, eps=1, delta="1/100"), "count all days in reports="),
    (lambda: sa.compose([KEPT]), "a list of compositions"),
    (lambda: sa.several_reports(CROWD, n=5, reports=2), "ask sa.epsilon or sa.delta"),
    *((question, "a mechanism of symamp") for question in ask(KEPT) if "most_rounds" not in question.__code__.co_names),
]


@pytest.mark.parametrize(("question", "remedy"), REPORTS)
def test_several_reports(question, remedy):
    with pytest.raises(SymampError) as refused:
        question()
    assert remedy in str(refused.value)


def test_several_reports_on_the_command_line(monkeypatch, capsys):
    for words, remedy in (
        (("--reports", "as many as they like"), "a number such as 10"),
        (("--reports", "2", "--kept", "--attending", "by value"), "fixed beforehand"),
        (("--reports", "2", "--kept", "--seen", "bundled"), "'rounds'"),
    ):
        code, _, told = run(monkeypatch, capsys, "reports", *KRR, "--n", "10", "--eps", "1", *words)
        assert (code, remedy in told) == (2, True), told
