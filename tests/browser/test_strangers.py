"""Other sites, other names for this machine, and other people's browsers."""

import httpx

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
