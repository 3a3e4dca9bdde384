"""The server of `streamlit run`, which runs for these tests anyway, sends at once; see tests/safety/test_sockets.py."""

from tests.safety.test_sockets import check_socket, pytestmark  # noqa: F401


def test_the_side_of_streamlit_run_sends_at_once(app_url: str) -> None:
    check_socket(app_url)
