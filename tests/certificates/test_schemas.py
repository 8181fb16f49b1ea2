"""The published JSON Schemas: valid by themselves, by another validator too, and at one with what reads and writes."""

import copy
import json
import keyword
import re
from decimal import Decimal
from functools import cache
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from flint import fmpq

import symamp as sa
from symamp import verifier
from symamp.errors import ArgumentError, FormatError, SymampError
from symamp.schemas.validation import check_document, schema_names, schema_text
from symamp.verifier.evidence.kinds import KINDS
from tests.sampled import some

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = {name: json.loads(schema_text(name)) for name in schema_names()}
PAGES = {"mechanism": "mechanism_format.md", "family": "family_format.md", "combined": "combined_format.md"}


def training(**given):
    noise = sa.training.GaussianStep(sigma=2)
    return sa.training.random_allocation(noise=noise, neighbours="add_remove", **given).delta


@cache
def examples(name):
    if name in PAGES:
        text = (ROOT / "docs" / PAGES[name]).read_text()
        return [json.loads(body) for body in re.findall(r"```json\n(.*?)```", text, re.DOTALL)]
    found = [
        sa.delta(sa.RandomizedResponse(k=3, eps0=1), n=1000, eps="0.1", gap=1e-2, method="blanket"),
        sa.epsilon(sa.RandomizedResponse(k=2, eps0=1), n=5, delta="1e-3", method="blanket"),
        sa.epsilon(sa.PureLDP(eps0=1), n=1000, delta="1e-6", gap=1e-2, method="generic"),
        *(
            sa.epsilon(
                sa.heterogeneous([(2, sa.RandomizedResponse(k=2, eps0=e)) for e in (1, 2)], shuffled=s),
                delta="1e-2",
            )
            for s in ("data", "messages")
        ),
        sa.delta(sa.heterogeneous([(30, sa.PureLDP(eps0=e)) for e in (1, 2)], shuffled="data"), eps=1, gap=1e-2),
        training(steps=20)("1/10"),
        training(steps=2, selected=2)(1, gap="1/10"),
    ]
    return [answer.certificate() for answer in found]


def test_the_names():
    assert schema_names() == ("certificate", "combined", "family", "mechanism")
    with pytest.raises(ArgumentError, match="certificate, combined, family, mechanism"):
        schema_text("../errors")


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one(name):
    jsonschema.Draft7Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize("name", SCHEMAS)
def test_examples_are_accepted_by_ours_and_by_another_validator(name):
    assert examples(name)
    for document in examples(name):
        assert check_document(document, name) is document
        jsonschema.validate(document, SCHEMAS[name], jsonschema.Draft7Validator)


def mutations(value):
    """Yield copies of a document with one member removed, added, or made something else."""
    places = [()]
    while places:
        place = places.pop()
        inner = value
        for step in place:
            inner = inner[step]
        if place:
            for other in (None, True, 0, "", [], {}, ["a"], {"a": 1}, -1, 1.5):
                if other != inner:
                    yield put(value, place, other)
        if isinstance(inner, dict):
            for key in list(inner)[:8]:
                places.append((*place, key))
                yield put(value, place, {k: v for k, v in inner.items() if k != key})
            yield put(value, place, {**inner, "x y": 1})
        elif isinstance(inner, list):
            places += [(*place, i) for i in range(min(len(inner), 2))]
            yield put(value, place, [*inner, 1])


def put(document, place, value):
    """A copy, with everything but the way to the place shared."""
    if not place:
        return value
    first, *rest = place
    copied = copy.copy(document)
    copied[first] = put(document[first], rest, value)
    return copied


@pytest.mark.parametrize(
    ("name", "example"),
    some(
        [*((name, 0) for name in SCHEMAS), ("certificate", 1), ("certificate", -2)],
        lambda x: x != ("certificate", 0) and x[1] >= 0,
    ),
)
def test_mutations_are_judged_alike_by_another_validator(name, example):
    other = jsonschema.Draft7Validator(SCHEMAS[name])
    verdicts = []
    for document in mutations(examples(name)[example]):
        try:
            check_document(document, name)
            good = True
        except FormatError:
            good = False
        assert good == other.is_valid(document), document
        verdicts.append(good)
    assert set(verdicts) == {True, False}


@pytest.mark.parametrize(("side", "above"), [("above", True), ("below", False)])
def test_the_schema_knows_every_kind_of_evidence(side, above):
    evidence = SCHEMAS["certificate"]["definitions"][side]
    known = {name for name, kind in KINDS.items() if above in kind.sides}
    assert set(evidence["properties"]["kind"]["enum"]) == known
    said = [rule["if"]["properties"]["kind"] for rule in evidence["allOf"]]
    assert {name for x in said for name in x.get("enum", [x.get("const")])} == known


@pytest.mark.parametrize(
    "example", some([3, 4, 1, "training", "epochs of training"], lambda example: example in (1, "training"))
)
def test_what_the_schema_of_certificates_refuses_the_verifier_refuses(example):
    place = {"training": -2, "epochs of training": -1}.get(example, example)
    other, document = jsonschema.Draft7Validator(SCHEMAS["certificate"]), examples("certificate")[place]
    refused = [m for m in mutations(document) if not other.is_valid(m)]
    assert len(refused) > 100
    for document in refused:
        assert verifier.verify(json.dumps(document)).status != "valid"


def test_what_the_schemas_of_mechanisms_refuse_is_refused_with_its_place():
    for name in ("mechanism", "family"):
        other = jsonschema.Draft7Validator(SCHEMAS[name])
        for document in mutations(examples(name)[0]):
            if not other.is_valid(document):
                with pytest.raises(FormatError) as refusal:
                    sa.mechanism_from_json(document)
                assert refusal.value.argument


def test_names_of_parameters_are_no_keywords():
    (pattern,) = SCHEMAS["mechanism"]["definitions"]["parameters"]["patternProperties"]
    assert pattern in SCHEMAS["family"]["definitions"]["parameters"]["patternProperties"]
    for word in (*keyword.kwlist, "exp", "log", "sqrt", "binomial", "a-b", "1a", "a" * 33, "ä", ""):
        assert not re.search(pattern, word)
    for word in ("eps0", "k", "exponent", "iff", "_", "a" * 32):
        assert re.search(pattern, word)


def test_documents_that_are_no_json_are_refused_before_the_schema():
    loop = {}
    loop["a"] = loop
    deep = []
    for _ in range(100):
        deep = [deep]
    for document in (loop, {"a": deep}, {"a": {1: 2}}, {"a": {10**9999: 2}}, {"a": [0] * 600_000}):
        with pytest.raises(FormatError, match="document"):
            check_document(document, "mechanism")


def test_places_with_dots_and_brackets_in_labels():
    example = copy.deepcopy(examples("mechanism")[0])
    example["table"] = {'a.b["c"][0]': {"x.y": None}}
    with pytest.raises(FormatError) as refusal:
        check_document(example, "mechanism")
    assert refusal.value.argument == r'table["a.b[\"c\"][0]"]["x.y"]'


@pytest.mark.parametrize("name", ["mechanism", "family"])
def test_values_that_no_json_file_holds_are_refused(name):
    hostile = (np.array([1, 2]), np.array([]), Decimal("sNaN"), fmpq(1, 2), b"1", {1}, (1, 2), object(), 1j)
    for document in examples(name):
        for key in document:
            for value in hostile:
                with pytest.raises(SymampError):
                    sa.mechanism_from_json({**document, key: value})
