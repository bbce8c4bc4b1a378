"""The verifiers in one file say of each published vector what the library says."""

import base64
import importlib.util
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_adapter import InvalidRequestError, Receipt, ReceiptError, verify_receipt
from agent_adapter.receipts.ring import Ring
from agent_adapter.receipts.statement import Requester, dump_statement
from tests.support.changed_json import changes
from tests.support.node import EXAMPLES, install
from tests.support.receipts import Signing, listed, ring_text
from verifiers import make_vectors
from verifiers.make_vectors import ARGS, BOT

VERIFIERS = Path(__file__).parents[1] / "verifiers"
VECTORS = json.loads((VERIFIERS / "vectors.json").read_text(encoding="utf-8"))
NAMES = [each["name"] for each in VECTORS]


def load(name):
    spec = importlib.util.spec_from_file_location(name, VERIFIERS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


assent_verify = load("assent_verify")


def inputs(vector):
    names = ("audience", "tool", "namespace", "min_people", "run", "now")
    return {name: vector[name] for name in names if name in vector} | {
        "args": base64.b64decode(vector["args"])
    }


def said_by_library(vector):
    given = inputs(vector)
    given["now"] = datetime.fromtimestamp(given["now"] / 1000, UTC)
    try:
        ring = Ring.parse(vector["ring"])
    except InvalidRequestError:
        return "ring"
    try:
        verify_receipt(Receipt.load(vector["receipt"]), keys=ring, **given)
    except ReceiptError as error:
        return error.code
    return "ok"


def said_by_python(vector):
    try:
        assent_verify.verify(vector["ring"], vector["receipt"], **inputs(vector))
    except assent_verify.Refused as error:
        return error.code
    return "ok"


@pytest.fixture(scope="module")
def typescript(tmp_path_factory):
    """The verifier in TypeScript, checked and made into JavaScript with the compiler of the examples."""
    install(EXAMPLES)
    folder = tmp_path_factory.mktemp("verifier")
    options = ["--strict", "--noUncheckedIndexedAccess", "--target", "es2022", "--module", "es2022"]
    options += ["--moduleResolution", "bundler", "--erasableSyntaxOnly", "--verbatimModuleSyntax"]
    options += [
        "--typeRoots",
        str(EXAMPLES / "node_modules/@types"),
        "--types",
        "node",
        "--outDir",
        str(folder),
    ]
    compiler = EXAMPLES / "node_modules/.bin/tsc"
    built = run(compiler, VERIFIERS / "assent_verify.ts", *options)
    assert built.returncode == 0, built.stdout
    (folder / "package.json").write_text('{"type": "module"}')
    return folder / "assent_verify.js"


def run(*command):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "timeout": 120}
    return subprocess.run([str(each) for each in command], check=False, **options)


@pytest.mark.parametrize("vector", VECTORS, ids=NAMES)
def test_the_library_and_the_verifier_in_python_say_what_a_vector_expects(vector):
    assert (said_by_library(vector), said_by_python(vector)) == (vector["expected"],) * 2


def said_by_typescript(typescript, vectors):
    path = typescript.with_name("vectors.json")
    path.write_text(json.dumps(vectors), encoding="utf-8")
    script = f"""
        import {{ readFileSync }} from "node:fs";
        import {{ verify, Refused }} from "file://{typescript}";
        const vectors = JSON.parse(readFileSync("{path}", "utf8"));
        const said = vectors.map((each) => {{
            try {{
                verify(each.ring, each.receipt, {{ ...each, args: Buffer.from(each.args, "base64") }});
                return "ok";
            }} catch (error) {{
                return error instanceof Refused ? error.code : String(error.stack);
            }}
        }});
        console.log(JSON.stringify(said));
    """
    return json.loads(run("node", "--input-type=module", "--eval", script).stdout)


@pytest.mark.nightly
def test_the_verifier_in_typescript_says_what_each_vector_expects(typescript):
    said = dict(zip(NAMES, said_by_typescript(typescript, VECTORS), strict=True))
    assert said == {each["name"]: each["expected"] for each in VECTORS}


def changed_vectors():
    """A receipt that all take, with each value of it, of what is signed in it and of the ring changed."""
    statement = BOT.statement(BOT.action(ARGS, rule="r"), message="m", requester=Requester(user="U0NOOR"))
    signed = json.loads(dump_statement(statement)) | {"silence": "reject"}
    signed["requester"]["vouched_by"], signed["actions"][0]["counts"] = "key a", ["0" * 64]
    base = make_vectors.vector("", "", BOT.receipt(ARGS), ring=ring_text(listed(BOT, not_before="2026-01-01T00:00:00Z", not_after="2027-01-01T00:00:00Z", revoked=False)))  # fmt: skip
    for name, text in changes(json.loads(base["ring"])):
        yield base | {"name": f"ring {name}", "ring": text}
    for name, text in changes(json.loads(base["receipt"])):
        yield base | {"name": f"receipt {name}", "receipt": text}
    for name, text in changes(signed):
        yield base | {"name": f"statement {name}", "receipt": make_vectors.of(text.encode()).dump()}


@pytest.mark.nightly
def test_all_say_the_same_of_a_receipt_in_which_anything_is_changed(typescript):
    """Whether people approved is one thing. Nothing but a refusal is raised, whatever stands there."""
    vectors = [*changed_vectors()]

    said = zip(
        vectors,
        map(said_by_library, vectors),
        map(said_by_python, vectors),
        said_by_typescript(typescript, vectors),
        strict=True,
    )
    assert [(each["name"], *words) for each, *words in said if len({*words}) > 1] == []


def test_the_vectors_are_what_their_script_writes():
    """Names are different, and every way to say no is there."""
    ended = run(sys.executable, "-c", "from verifiers.make_vectors import text; print(text(), end='')")

    assert ended.stdout == (VERIFIERS / "vectors.json").read_text(encoding="utf-8")
    assert len(set(NAMES)) == len(NAMES)
    assert {each["expected"] for each in VECTORS} == {
        "ok", "ring", "form", "type", "key", "revoked", "signature", "version", "namespace", "team", "key_time", "use_by",
        "deadline", "audience", "run", "expired", "record", "action", "kind", "tool", "people", "arguments",
    }  # fmt: skip


@pytest.fixture(params=["python", pytest.param("typescript", marks=pytest.mark.nightly)])
def command(request, tmp_path):
    """Runs a verifier with files in a folder."""
    program = [sys.executable, VERIFIERS / "assent_verify.py"]
    if request.param == "typescript":
        program = ["node", request.getfixturevalue("typescript")]
    bot = Signing()
    files = {
        "ring": ring_text(listed(bot)),
        "receipt": bot.receipt('{"to":"al"}').dump(),
        "args": '{"to":"al"}',
    }
    for name, text in files.items():
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    given = [part for name in files for part in (f"--{name}", tmp_path / f"{name}.json")]
    return lambda *more: run(*program, *given, *more)


@pytest.mark.parametrize(
    ("tool", "code", "says"),
    [
        ("pay", 0, "Proven: U0DANA decided 'approve' for pay on "),
        ("delete", 1, "Not proven (tool): it is for the tool "),
    ],
)
def test_a_verifier_prints_who_approved_what_or_why_not(command, tool, code, says):
    ended = command("--audience", "billing", "--tool", tool)

    assert (ended.returncode, ended.stdout[: len(says)]) == (code, says)


@pytest.mark.parametrize(("option", "code"), [("ring", "ring"), ("receipt", "form"), ("args", "arguments")])
def test_a_verifier_says_which_file_is_missing(command, option, code):
    """With one of the documented codes, and no usage: the command was right."""
    ended = command("--audience", "billing", "--tool", "pay", f"--{option}", "nope")

    assert ended.returncode == 1
    assert ended.stdout == f"Not proven ({code}): --{option}: there is no file nope.\n"


@pytest.mark.parametrize(
    "more", [["--audience", "billing"], ["--audience", "billing", "--tool", "pay", "--min-people", "x"]]
)
def test_a_verifier_that_is_called_wrongly_ends_with_2(command, more):
    assert command(*more).returncode == 2


@pytest.mark.nightly
def test_the_time_and_the_number_of_people_are_numbers_in_typescript(typescript):
    """Comparisons with NaN are false, so a wrong number must not decide."""
    script = f"""
        import {{ verify }} from "file://{typescript}";
        for (const wrong of [{{ now: NaN }}, {{ min_people: NaN }}, {{ min_people: "2" }}]) {{
            try {{ verify("", "", {{ audience: "a", tool: "t", args: Buffer.from(""), ...wrong }}); }}
            catch (error) {{ console.log(error.constructor.name); }}
        }}
    """

    assert run("node", "--input-type=module", "--eval", script).stdout.split() == ["TypeError"] * 3
