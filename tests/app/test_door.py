"""Who comes in: sessions, accounts, throttled passwords, and what --listen refuses. Without a browser."""

import asyncio
import json
import os
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from sfumato.app import accounts
from sfumato.app.accounts import WAIT, Accounts, Throttle
from sfumato.app.guard import Door
from sfumato.app.server import application
from sfumato.app.sessions import IDLE, LONGEST, Sessions
from sfumato.app.work import Work
from sfumato.cli import app
from sfumato.errors import FileError
from sfumato.parties.authority import write_certificates

PASSWORD = "correct horse battery"


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Browser:
    """Sends requests to an application, and keeps its cookies."""

    def __init__(self, application):
        self.application = application
        self.cookies = httpx.Cookies()
        self.headers = {"origin": "https://page.example"}

    def get(self, path, **options):
        return self._send("GET", path, **options)

    def post(self, path, **options):
        return self._send("POST", path, **options)

    def _send(self, method, path, headers=None, **options):
        async def send():
            transport = httpx.ASGITransport(self.application)
            async with httpx.AsyncClient(
                transport=transport, base_url="https://page.example", cookies=self.cookies
            ) as client:
                answer = await client.request(method, path, headers={**self.headers, **(headers or {})}, **options)
                self.cookies = client.cookies
                return answer

        return asyncio.run(send())


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    monkeypatch.setattr(accounts, "COST", {"n": 1 << 4, "r": 8, "p": 1})


@pytest.fixture
def work(tmp_path):
    return Work.open(tmp_path / "work")


@pytest.fixture
def door(work):
    Accounts(work.folder).add("ann", PASSWORD)
    return Door.with_accounts(("page.example",), 443, Accounts(work.folder))


@pytest.fixture
def client(work, door):
    return Browser(application(work, door))


def test_only_an_account_comes_in_and_its_cookie_is_secure(client):
    assert client.get("/").headers["location"] == "/login"
    assert client.post("/new").status_code == 401
    assert client.get("/static/app.css").status_code == 200
    answer = client.post("/login", data={"name": "ann", "password": PASSWORD})
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-sfumato=")
    assert all(word in cookie for word in ("HttpOnly", "Secure", "SameSite=strict", "Path=/"))
    home = client.get("/")
    assert home.status_code == 200
    assert "ann" in home.text
    assert "max-age" in home.headers["strict-transport-security"]


def test_a_session_ends_when_its_account_signs_out(client, door):
    client.post("/login", data={"name": "ann", "password": PASSWORD})
    token = client.get("/new").text.split('name="form_token" value="')[1].split('"')[0]
    assert client.post("/logout", data={"form_token": "wrong"}).status_code == 403
    assert client.post("/logout", data={"form_token": token}).status_code == 303
    assert client.get("/").headers["location"] == "/login"
    assert not door.sessions._open


@pytest.mark.parametrize(
    "headers", [{"origin": ""}, {"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}]
)
def test_nobody_can_sign_a_browser_in_from_elsewhere(client, headers):
    del client.headers["origin"]
    given = {name: value for name, value in headers.items() if value}
    answer = client.post("/login", data={"name": "ann", "password": PASSWORD}, headers=given)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_other_names_for_this_machine_are_refused(client):
    assert client.get("/login", headers={"host": "evil.example"}).status_code == 421
    assert client.get("/login", headers={"host": "PAGE.example"}).status_code == 200


def test_guessing_passwords_is_slowed_down(client, door):
    clock = Clock()
    door.throttle = Throttle(clock)
    tries = [client.post("/login", data={"name": "ann", "password": "wrong"}).status_code for _ in range(6)]
    assert tries == [403] * 5 + [429]
    right = {"name": "ann", "password": PASSWORD}
    assert client.post("/login", data=right).status_code == 429
    clock.now += WAIT + 1
    assert client.post("/login", data=right).status_code == 303


def test_an_address_and_a_name_have_limits_of_their_own():
    throttle = Throttle(Clock())
    for number in range(20):
        throttle.failed(f"name {number}", "1.2.3.4")
    assert throttle.must_wait("another", "1.2.3.4")
    assert not throttle.must_wait("another", "1.2.3.5")
    for number in range(100):
        throttle.failed("Ann", f"10.0.0.{number}")
    assert throttle.must_wait("ann", "10.0.1.1")


def test_somebody_who_signs_in_often_is_not_slowed_down():
    throttle = Throttle(Clock())
    for _ in range(200):
        assert not throttle.must_wait("ann", "1.2.3.4")
        throttle.failed("ann", "1.2.3.4")
        throttle.succeeded("ann", "1.2.3.4")


def test_a_session_of_an_account_does_not_last_for_ever():
    clock = Clock()
    sessions = Sessions(clock)
    idle, busy, own = sessions.begin("ann"), sessions.begin("bob"), sessions.begin()
    for _ in range(int(LONGEST // IDLE) + 1):
        clock.now += IDLE * 0.95
        sessions.find(busy)
    assert sessions.find(idle) is None
    clock.now = LONGEST + 1
    assert sessions.find(busy) is None
    assert sessions.find(own) is not None


def test_passwords_are_kept_as_hashes_for_the_owner_alone(work):
    kept = Accounts(work.folder)
    kept.add("ann", PASSWORD)
    kept.add("bob", PASSWORD)
    file = work.folder / "accounts.json"
    content = json.loads(file.read_text())
    assert PASSWORD not in file.read_text()
    assert content["ann"]["hash"] != content["bob"]["hash"]
    assert os.name != "posix" or file.stat().st_mode & 0o077 == 0
    assert kept.admits("ann", PASSWORD)
    assert not kept.admits("ann", PASSWORD + " ")
    assert not kept.admits("nobody", PASSWORD)
    kept.remove("ann")
    assert not kept.admits("ann", PASSWORD)


@pytest.mark.parametrize(
    ("name", "password"), [("", PASSWORD), ("a\nb", PASSWORD), ("ann", "short"), ("../x", PASSWORD)]
)
def test_bad_accounts_are_refused(work, name, password):
    with pytest.raises(FileError):
        Accounts(work.folder).add(name, password)
    assert Accounts(work.folder).names == []


def refused(*words):
    result = CliRunner().invoke(app, ["app", "--no-browser", *map(str, words)])
    assert result.exit_code == 2, result.output
    return " ".join(result.output.split())


def test_other_machines_are_let_in_with_tls_and_accounts_alone(tmp_path):
    write_certificates(tmp_path / "tls", ["curator"], "curator", ["localhost", "127.0.0.1"])
    own, folder = tmp_path / "tls" / "curator", tmp_path / "work"
    tls = ("--tls-certificate", own / "certificate.pem", "--tls-key", own / "tls-key.pem")
    assert "over TLS alone" in refused("--folder", folder, "--listen", "192.0.2.1")
    assert "over TLS alone" in refused("--folder", folder, "--listen", "192.0.2.1", *tls[:2])
    assert "over TLS alone" in refused("--folder", folder, *tls)
    assert "nobody has an account" in refused("--folder", folder, "--listen", "127.0.0.1", *tls)
    crossed = ("--tls-certificate", own / "authority.pem", "--tls-key", own / "tls-key.pem")
    assert "are not a certificate and its key" in refused("--folder", folder, "--listen", "127.0.0.1", *crossed)
    if os.name == "posix":
        (own / "tls-key.pem").chmod(0o644)
        assert "can be read by others" in refused("--folder", folder, "--listen", "127.0.0.1", *tls)


def test_accounts_are_given_and_taken_on_the_command_line(tmp_path):
    def run(*words, typed=""):
        return CliRunner().invoke(app, ["account", *words, "--folder", str(tmp_path)], input=typed)

    assert run("add", "ann", typed="short\n").exit_code == 2
    assert run("add", "ann", typed=PASSWORD + "\n").exit_code == 0
    assert run("list").output.split() == ["ann"]
    assert Accounts(Path(tmp_path)).admits("ann", PASSWORD)
    assert run("remove", "bob").exit_code == 2
    assert run("remove", "ann").exit_code == 0
    assert run("list").output.split() == []


def test_two_servers_on_one_machine_have_cookies_of_their_own():
    assert Door.own_machine(1).cookie != Door.own_machine(2).cookie
