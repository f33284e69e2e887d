"""Other sites, other names for this machine, and other people's browsers."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import httpx
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from steps import begin_survey, choose_budget, open_account
from test_pages import look_at

from conftest import start_server
from sfumato.app.accounts import Accounts
from sfumato.app.work import Work

INLINE = "() => { const s = document.createElement('script'); s.text = 'document.title = 9'; document.body.append(s) }"


def test_the_address_works_once(open_page, server, browser):
    open_page()
    context = browser.new_context()
    page = context.new_page()
    assert page.goto(server.address).status == 401
    context.close()


def test_another_site_cannot_send_a_form(open_page, server, browser):
    page = open_page()
    page.context.route(
        "http://evil.example/",
        lambda route: route.fulfill(
            content_type="text/html",
            body=f'<form method="post" action="{server.origin}/new"><button>win a prize</button></form>',
        ),
    )
    page.goto("http://evil.example/")
    with page.expect_response(f"{server.origin}/new") as answer:
        page.get_by_role("button").click()
    assert answer.value.status in (401, 403)
    assert not list((server.folder / "drafts").iterdir())


def test_a_name_that_was_made_to_resolve_here_is_refused(server):
    answer = httpx.get(server.address, headers={"host": f"evil.example:{server.port}"})
    assert answer.status_code == 421
    assert "set-cookie" not in answer.headers


def test_nothing_is_loaded_from_elsewhere_and_no_script_stands_in_a_page(open_page, server):
    page = open_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    answer = page.goto(f"{server.origin}/new")
    assert all(url.startswith(server.origin) for url in asked)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    page.evaluate(INLINE)
    assert page.title() != "9"


def write_certificate(folder):
    """A certificate as browsers take them: those of a consortium have Ed25519 keys, which Chromium does not speak."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "page")])
    hosts = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    certificate = made.add_extension(hosts, critical=False).sign(key, hashes.SHA256())
    (folder / "page.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
    (folder / "page.key").touch(mode=0o600)
    (folder / "page.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def test_accounts_sign_in_over_tls_and_approve_with_their_own_names(browser, tmp_path):
    work = Work.open(tmp_path / "work")
    for name in ("ann", "bob"):
        Accounts(work.folder).add(name, f"{name} has a long password")
    write_certificate(tmp_path)
    tls = ("--tls-certificate", tmp_path / "page.pem", "--tls-key", tmp_path / "page.key")
    server = start_server(work.folder, None, "--listen", "127.0.0.1", *tls)
    assert server.address.startswith("https://127.0.0.1:")
    people = {}
    problems = []
    try:
        for name in ("ann", "bob"):
            context = browser.new_context(ignore_https_errors=True)
            context.set_default_timeout(60_000)
            page = people[name] = context.new_page()
            page.goto(server.origin)
            assert page.url == f"{server.origin}/login"
            page.get_by_label("Name").fill(name)
            page.get_by_label("Password").fill("wrong")
            page.get_by_role("button", name="Sign in").click()
            page.get_by_text("do not belong together").wait_for()
            if name == "ann":
                look_at(page, "login", problems)
            page.get_by_label("Name").fill(name)
            page.get_by_label("Password").fill(f"{name} has a long password")
            page.get_by_role("button", name="Sign in").click()
            page.get_by_role("heading", name="Your releases").wait_for()
            (cookie,) = page.context.cookies()
            assert cookie["secure"]
            assert cookie["httpOnly"]
        ann, bob = people["ann"], people["bob"]
        begin_survey(ann)
        schema = ann.url
        open_account(ann, server.origin, "people", two_names_above="0.5")
        ann.goto(schema)
        choose_budget(ann, "1")
        assert ann.get_by_label("Your name").count() == 0, "who acts is who signed in"
        ann.get_by_role("button", name="Propose").click()
        ann.get_by_role("button", name="Approve").click()
        ann.get_by_text("another person has to").wait_for()
        bob.goto(f"{server.origin}/proposal/2")
        bob.get_by_role("button", name="Approve").click()
        bob.get_by_role("heading", name="Two persons have approved it").wait_for()
        bob.get_by_role("button", name="Sign out").click()
        bob.get_by_role("heading", name="Sign in").wait_for()
        assert problems == []
    finally:
        for page in people.values():
            page.context.close()
        server.stop()
