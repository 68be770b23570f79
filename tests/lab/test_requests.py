"""What the lab refuses: foreign pages, wrong types, path tricks; in words, never with a 5xx."""

import base64
import itertools
import json
import random
import shutil
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import psutil
import pytest
from conftest import write_symbols
from lab_server import PAIRS, TINY, end_while_it_trains, running_lab, served_lab
from made_up_runs import made_up_run, noisy

from unseen.cli import command
from unseen.errors import UnseenError
from unseen.lab.choices import Choices, setup_json
from unseen.lab.lab import Lab
from unseen.lab.serve import find_address
from unseen.runs.presets import fast


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A lab with one finished run."""
    runs = tmp_path_factory.mktemp("lab") / "runs"
    with served_lab(runs) as client:
        client.run = made_up_run(runs, fast().vary(split=PAIRS, **TINY), noisy).path.name
        yield client


def refused(answer: httpx.Response, status: int, words: str = "") -> None:
    assert answer.status_code == status, answer.text
    fault = answer.json()["error"]
    assert fault.endswith(".")
    assert words.lower() in fault.lower()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 403),
        ({"host": "evil.example:PORT"}, 403),
        ({"host": "127.0.0.1:9999"}, 403),
        ({"host": ""}, 403),
        ({"host": "127.0.0.1"}, 403),
        ({"host": "[::1]"}, 403),
        ({"host": "[::1]:PORT"}, 200),
        ({"host": "localhost:PORT"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:PORT"}, 403),
        ({"origin": "http://127.0.0.1:PORT"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
    ],
)
def test_only_its_own_page_is_answered(client, headers, status):
    port = str(client.policy.port)
    headers = {name: value.replace("PORT", port) for name, value in headers.items()}
    assert client.get("/api/training", headers=headers).status_code == status
    posted = client.post("/api/setup", json={}, headers=headers)
    assert posted.status_code == status


def test_a_number_beyond_all_measure_is_no_fault_of_the_server(client):
    number = "9" * 5_000
    for path in (f"folds/{number}/history", f"folds/1/cells/{number}"):
        refused(client.get(f"/api/runs/{client.run}/{path}"), 404, "as long as this")


def test_of_two_starts_at_once_the_refused_one_leaves_no_folder(tmp_path):
    made = [{"settings": {**TINY, "seed": seed}} for seed in (101, 102)]
    with served_lab(tmp_path) as client, ThreadPoolExecutor(2) as pool:
        codes = pool.map(lambda each: client.post("/api/start", json=each).status_code, made)
        assert sorted(codes) == [200, 409]
    assert len([*tmp_path.iterdir()]) == 1


def test_a_link_from_elsewhere_opens_the_page_and_nothing_else(client):
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.get("/", headers=link).status_code == 200
    refused(client.get("/api/runs", headers=link), 403)
    refused(client.get(f"/runs/{client.run}/report", headers=link), 403)


def test_every_answer_has_a_strict_policy_and_the_page_no_inline_script(client):
    for path in ("/", "/static/lab.js", "/api/runs", "/nowhere"):
        policy = client.get(path).headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'" in policy
        assert "unsafe" not in policy
    report = client.get(f"/runs/{client.run}/report")
    assert report.headers["content-security-policy"].startswith("sandbox allow-scripts;")
    assert "What was run" in report.text
    page = client.get("/").text
    assert page.count("<script") == 1
    assert 'src="/static/lab.js"></script>' in page
    assert " style=" not in page
    assert "onclick" not in page


@pytest.fixture
def client_with_token(tmp_path) -> Iterator[httpx.Client]:
    with served_lab(tmp_path, host="0.0.0.0", token="secret") as client:
        yield client


def test_other_machines_need_the_token(client_with_token):
    client = client_with_token
    port = client.policy.port
    for host in (f"192.168.1.7:{port}", f"127.0.0.1:{port}", f"[fe80::1]:{port}"):
        there = {"host": host}
        refused(client.get("/", headers=there), 401, "token")
        assert "set-cookie" not in client.get("/?token=wrong", headers=there).headers
        refused(client.get("/api/runs?token=wrong", headers=there), 401)
        refused(client.get("/api/runs?token=%C3%BC", headers=there), 401)
        for cookie in (f"{client.policy.cookie}=wrong", f"{client.policy.cookie}", "é=ü"):
            sent = there | {"cookie": cookie.encode()}
            refused(client.get("/static/lab.js", headers=sent), 401)
    refused(client.get("/?token=secret", headers={"host": f"rebound.example:{port}"}), 403)
    assert client.get("/?token=secret").status_code == 200  # which leaves a cookie
    assert client.get("/api/runs").status_code == 200
    client.cookies.clear()
    refused(client.get("/api/runs"), 401)


SETTINGS = [
    ({"preset": "nope"}, "unknown preset"),
    ({"preset": ["fast"]}, "preset"),
    ({"preset": "oracle"}, "preset"),
    ({"settings": []}, "an object"),
    ({"settings": {"nope": 1}}, "unknown setting"),
    ({"settings": {"name": "x"}}, "unknown setting"),
    ({"settings": {"unseen_list": [[1, 2]]}}, "unknown setting"),
    ({"settings": {"samples": "many"}}, "whole number"),
    ({"settings": {"samples": None}}, "a text or a number"),
    ({"settings": {"samples": {}}}, "a text or a number"),
    ({"settings": {"samples": 10**400}}, "more than"),
    ({"settings": {"samples": 1e7}}, "more than"),
    ({"settings": {"learning_rate": "nan"}}, "finite"),
    ({"settings": {"operation": "a +"}}, "no arithmetic"),
    ({"settings": {"operation": "\ud800"}}, "not allowed"),
    ({"settings": {"operation": "a" * 5000}}, "longer"),
    ({"settings": {"operation": "__import__('os')"}}, "perati"),
    ({"settings": {"operation": "a / b"}}, "0"),
    ({"settings": {"split": "/etc/passwd"}}, "unknown split"),
    ({"settings": {"split": "listed"}}, "unknown split"),
    ({"settings": {"split": "3 8; 4 1"}}, "unknown split"),
    ({"settings": {"split": []}}, "empty"),
    ({"settings": {"split": [[3, 99]]}}, "no combination"),
    ({"settings": {"split": [[3, 8.5]]}}, "list of combinations"),
    ({"settings": {"split": [[3]]}}, "no combination"),
    ({"settings": {"split": [3, 8]}}, "list of combinations"),
    ({"settings": {"split": [["../../x", 1]]}}, "list of combinations"),
    ({"settings": {"split": [[a, b] for a in range(10) for b in range(10)]}}, "to be seen"),
    ({"settings": {"symbols": "/etc"}}, "unknown symbols"),
    ({"settings": {"symbols": "../symbols"}}, "unknown symbols"),
    ({"settings": {"model": "net.py:Net"}}, "unknown model"),
    ({"settings": {"model": "/tmp/net.py:Net"}}, "unknown model"),
    ({"settings": {"model": "nearest"}}, "unknown model"),
    ({"settings": {"length": 6}}, "up to 1,000 combinations"),
    ({"settings": {"length": 20, "operation": "a"}}, "up to 1,000 combinations"),
    ({"settings": {"device": "tpu"}}, "must be like cpu"),
    ({"settings": {"seed": -1}}, "at least 0"),
    ({"fold": 11}, "1 to 10"),
    ({"fold": 0}, "1 to 10"),
    ({"fold": "1"}, "number of a fold"),
    ({"fold": 1.5}, "number of a fold"),
    ({"fold": None}, "number of a fold"),
    ({"more": 1}, "an object with"),
]


@pytest.mark.parametrize(("document", "words"), SETTINGS)
def test_a_setup_that_cannot_be_is_refused_in_words(client, document, words):
    answer = client.post("/api/setup", content=json.dumps(document), headers=JSON)
    refused(answer, 400, words)


JSON = {"content-type": "application/json"}


def test_a_fault_has_a_capital_unless_it_begins_with_a_name_or_an_expression(client):
    def said(**settings):
        return client.post("/api/setup", json={"settings": settings}).json()["error"]

    assert said(operation="a // 0").startswith("a // 0 divides by zero")
    assert said(operation="shown:x").startswith("shown:x names no set")
    assert said(operation="nope").startswith("Unknown operation")
    assert said(split=[3]).startswith("A split is")
    assert said(seed=-1).startswith("Seed -1 must")


def test_a_seed_that_a_browser_cannot_count_to_is_kept_to_the_bit(client):
    for seed in (7, 2**53 - 1, 2**53 + 1, 2**62 + 1):
        answer = client.post("/api/setup", json={"settings": {"seed": str(seed)}})
        found = json.loads(answer.text, parse_int=float)["settings"]  # as a browser reads it
        again = client.post("/api/setup", json={"settings": found}).json()
        assert f"--seed {seed} " in again["command"]


def test_bodies_that_are_no_json_objects_are_refused(client):
    for content in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b"1", b"[]", b'"x"', b"NaN", b"null"):
        refused(client.post("/api/setup", content=content, headers=JSON), 400)
    refused(client.post("/api/setup", content=b'{"fold": ' + b"9" * 9000 + b"}", headers=JSON), 400)
    refused(client.post("/api/setup", content=b"{}"), 415)
    refused(client.post("/api/setup", data={"a": 1}), 415)
    refused(client.post("/api/setup", content=b" " * 1_000_001, headers=JSON), 413, "1 MB")
    whole = iter([b" " * 300_000] * 4)
    refused(client.post("/api/setup", content=whole, headers=JSON), 413, "1 MB")
    for guess in (-0.1, 1.1, "much", True, [], {}):
        refused(client.post("/api/start", json={"guess": guess}), 400, "a share from 0 to 1")


def test_runs_are_named_by_their_folder_and_no_other_way(client):
    (client.runs.parent / "elsewhere").mkdir()
    names = ["..", ".", "nope", "%2e%2e", "..%2felsewhere", "%00", "a%0ab", "fast", "%ff"]
    names += [str(client.runs / client.run).replace("/", "%2f"), client.run[:-1], "x" * 3000]
    for name in names:
        answers = [
            client.get(f"/api/runs/{name}/folds/1/cells/1"),
            client.get(f"/runs/{name}/report"),
            client.get(f"/api/runs/{name}/folds/1/history"),
            client.get("/api/compare", params={"run": [name, client.run]}),
        ]
        assert {each.status_code for each in answers} <= {404}, name
    for name in ("../server.py", "..%2fserver.py", "%2e%2e/server.py", "nope.js", "lab.py", ""):
        assert client.get(f"/static/{name}").status_code == 404
    good = f"/api/runs/{client.run}"
    assert client.get(good).status_code == 200
    for bad in ("?fold=2", "?fold=x", "?fold=-1", "?fold=99999999", "?fold=²", "?fold="):
        refused(client.get(good + bad), 400)
    for bad in ("/folds/1/cells/100", "/folds/1/cells/99999999999999999999", "/folds/1/cells/-1"):
        refused(client.get(good + bad), 404)
    refused(client.get(f"{good}/folds/2/cells/1"), 400, "does not exist")
    refused(client.get("/api/compare"), 400, "two runs")
    itself = client.get("/api/compare", params={"run": [client.run] * 2}).json()
    assert "cannot be compared with itself" in itself["fault"]


def test_drawings_of_another_size_are_refused(client):
    path = f"/api/runs/{client.run}/folds/1/answer"
    for panels in (None, [], "x", ["AA=="], ["AA==", "AA=="], [1, 2], [None] * 2, ["é", "é"], {}):
        refused(client.post(path, json={"panels": panels}), 400, "28 × 28")


def test_a_folder_or_a_file_is_offered_only_if_the_lab_was_given_it(tmp_path):
    symbols = write_symbols(tmp_path / "own", labels=4)
    (tmp_path / "net.py").write_text("class Net: pass\n")
    choices = Choices.of(symbols, f"{tmp_path}/net.py:Net")
    document = {"settings": {"symbols": str(symbols), "model": f"{tmp_path}/net.py:Net"}}
    described = setup_json(choices.setup(document))
    assert described["places"] == [[0, 1, 2, 3]] * 2
    with pytest.raises(UnseenError, match="unknown symbols"):
        Choices().setup(document)
    with pytest.raises(UnseenError, match="names no network"):
        Choices.of(None, "lenet5")
    experiment = fast().vary(symbols=str(symbols), split=[(1, 2)], **TINY)
    run = made_up_run(tmp_path / "runs", experiment, noisy).path.name
    assert Lab(tmp_path / "runs", choices).open_setup(run, None)[1].experiment == experiment
    with pytest.raises(UnseenError, match="not among those that the lab was started with"):
        Lab(tmp_path / "runs", Choices()).open_setup(run, None)


def test_small_answers_are_sent_at_once():
    bound = find_address(None, 0).socket
    with bound:
        assert bound.proto == socket.IPPROTO_TCP  # for which asyncio turns Nagle's algorithm off


def test_what_a_split_gives_away_is_said_and_marked(client):
    def asked(**settings):
        return client.post("/api/setup", json={"settings": settings}).json()

    row = asked(split=[[3, right] for right in range(10)])
    assert row["undetermined"] == [*range(30, 40)]
    assert "do not determine 10 of 10" in row["leakage"][1]
    assert asked(split=[[3, 8]])["undetermined"] == []
    assert asked(operation="table:1")["leakage"][1].startswith("The answers are neither")
    assert asked(split="position")["folds"] == 20
    ready = asked(split="mnist-half", symbols="mnist-0-4")
    assert len(ready["unseen"]) - 1 == len(ready["undetermined"]) == 17


FRAME = {"epochs": 1, "seconds": 1.0, "seen": {}, "unseen": {}}
DAMAGES = {
    "experiment.json": [b"", b"{}", b"[" * 9_000, b"\xff", b'{"format": 99}'],
    "folds/01/result.json": [b"", b"{}", b"null", b"\xff", b'{"format": 99}'],
    "folds/01/predictions.npz": [b"", b"PK\x03\x04", b"\0" * 999],
    "folds/01/model.safetensors": [b"", b"\xff" * 99],
    "folds/01/so_far.safetensors": [b"", b"\xff" * 99],
    "folds/01/progress.json": [b"{}", b'{"epochs_done": -1}'],
    "folds/01/measurements.jsonl": [
        json.dumps(FRAME | more).encode()
        for more in (
            {},
            {"combinations": [[3, 8], 5, 1_000_000, -4], "right": [9], "samples": [0], "mean": []},
            {"combinations": [[3, 8]], "right": [9], "samples": [-2], "mean": [None]},
            {"combinations": [["x"] * 99], "right": [1], "samples": [1], "mean": [1], "shown": [1]},
        )
    ],
    "folds/00/x": [b""],
    "folds/99999999999999999999/x": [b""],
    "guess": [b"\xff", b"1e999"],
    "name": [b"../..", b"\xff"],
    "unseen.txt": [b"\xff"],
}


def test_no_damage_of_a_run_folder_is_more_than_a_sentence(client, tmp_path_factory):
    whole = client.runs / client.run
    kept = tmp_path_factory.mktemp("kept") / client.run
    whole.rename(kept)
    paths = ["", "/folds/1/history", "/folds/1/cells/38", "/folds/1/cells/39"]
    try:
        for name, contents in DAMAGES.items():
            for content in contents:
                shutil.copytree(kept, whole)
                (whole / name).parent.mkdir(exist_ok=True)
                (whole / name).write_bytes(content)
                assert client.get("/api/runs").status_code == 200, (name, content)
                panel = base64.b64encode(bytes(784)).decode()
                answers = [client.get(f"/api/runs/{client.run}{path}") for path in paths]
                path = f"/api/runs/{client.run}/folds/1/answer"
                answers.append(client.post(path, json={"panels": [panel] * 2}))
                if "measurements" in name:  # which the report alone draws
                    answers.append(client.get(f"/runs/{client.run}/report"))
                elif "folds/01" in name:
                    answers.append(client.get(f"/api/runs/{client.run}/verdict"))
                codes = [each.status_code for each in answers]
                assert max(codes) < 500, (name, content[:80], codes)
                shutil.rmtree(whole)
    finally:
        shutil.rmtree(whole, ignore_errors=True)
        kept.rename(whole)


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["--port", "99999"], "--port 99999 cannot be used"),
        (["--port", "1.5"], "is no whole number"),
        (["--host", "256.1.1.1"], "--host 256.1.1.1 cannot be used"),
        (["--symbols", "nowhere"], "there is no such folder"),
        (["--model", "lenet5"], "--model lenet5 names no network of your own"),
        (["no-such-run"], "no run 'no-such-run'"),
    ],
)
def test_what_a_lab_cannot_be_started_with_is_said(tmp_path, monkeypatch, capsys, words, fault):
    monkeypatch.chdir(tmp_path)
    assert command(["lab", "--no-open", *words]) == 2
    assert fault in capsys.readouterr().err


RAW = [
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00",
    b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    b"POST /api/setup HTTP/1.1\r\nHost: HERE\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST /api/setup HTTP/1.1\r\nHost: HERE\r\nContent-Type: application/json\r\n"
    b"Content-Length: -5\r\n\r\n",
    b"POST /api/setup HTTP/1.1\r\nHost: HERE\r\nContent-Type: application/json\r\n"
    b"Content-Length: 99999999999999\r\n\r\n{}",
    b"GET /api/runs HTTP/1.1\r\nHost: HERE\r\nHost: evil\r\n\r\n",
    b"GET /api/runs HTTP/1.1\r\nHost: HERE\r\nCookie: \xff\xfe=;;;=\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: HERE\r\n\r\n",
    b"GET http://evil.example/ HTTP/1.1\r\nHost: HERE\r\n\r\n",
    b"GET /%ff%fe/%00 HTTP/1.1\r\nHost: HERE\r\n\r\n",
]


def test_a_thousand_bad_requests_leave_the_server_as_it_was_until_it_is_interrupted(tmp_path):
    with running_lab(tmp_path) as lab:
        host, port = lab.client.base_url.host, lab.client.base_url.port
        process = psutil.Process(lab.process.pid)
        bodies = [json.dumps(document).encode() for document, _ in SETTINGS]
        bodies += [b"", b"{", b"[" * 20_000, b"\xff", b" " * 100_000, b'{"guess": {}}', b"NaN"]
        paths = ["/api/setup", "/api/start", "/api/stop", "/", "/api/runs/..%2f..", "/api/nope"]
        paths += ["/api/runs/x/folds/1/answer", "/api/runs/x/folds/-1/history", "/static/..%2fx.js"]
        headers = [JSON, {}, JSON | {"origin": "http://evil"}, JSON | {"host": "evil"}]
        headers += [JSON | {"cookie": "a" * 9000}, JSON | {"content-type": "text/plain"}]
        methods = ["POST", "GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "BREW"]
        kinds = [*itertools.product(methods, paths, headers, bodies)]
        random.Random(3).shuffle(kinds)
        # those that would start a training are no bad requests
        kinds = [each for each in kinds if not (each[1] == "/api/start" and each[3] == b"")]
        memory = []
        for number, (method, path, sent, body) in enumerate(kinds[:1_000]):
            answer = lab.client.request(method, path, headers=sent, content=body)
            assert answer.status_code < 500, (method, path, sent, body[:80], answer.text)
            assert "Traceback" not in answer.text
            if number in (300, 999):
                memory.append(process.memory_info().rss)
        for raw in RAW:
            with socket.create_connection((host, port), timeout=10) as bare:
                bare.sendall(raw.replace(b"HERE", f"{host}:{port}".encode()))
                bare.shutdown(socket.SHUT_WR)
                bare.settimeout(10)
                got = b"".join(iter(lambda bare=bare: bare.recv(65536), b""))
            assert b" 50" not in got[:20], (raw, got)
            assert b"Traceback" not in got
        assert memory[1] - memory[0] < 20_000_000
        assert lab.client.get("/api/lab").status_code == 200
        end_while_it_trains(lab, signal.SIGINT)
        assert lab.process.returncode == 130
        assert lab.process.stderr.read() == ""
