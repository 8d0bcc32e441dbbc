"""A real browser for tests: Debian's chromium, driven by selenium; what it says, asks for and looks like."""

import base64
import json
import shutil
import time
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

AXE = Path(__file__).parents[2] / ".browser" / "node_modules" / "axe-core" / "axe.min.js"
IS_THERE = bool(shutil.which("chromium") and shutil.which("chromedriver"))
PHONE = (390, 800)


class Chromium:
    """One window. `rules` map names to addresses, as a hostile name server would."""

    def __init__(self, *, scripts=True, rules=""):
        options = Options()
        options.binary_location = shutil.which("chromium")
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
                     "--window-size=1200,900"):  # fmt: skip
            options.add_argument(word)
        if rules:
            options.add_argument(f"--host-resolver-rules={rules}")
        if not scripts:
            options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.driver.set_page_load_timeout(60)

    def close(self):
        """Leave."""
        self.driver.quit()

    def go(self, address):
        """Open an address."""
        self.driver.get(address)

    def one(self, selector):
        """The first element."""
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        """All elements."""
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def click(self, selector):
        """Click, as a person does: in view."""
        element = self.one(selector)
        self.driver.execute_cdp_cmd("DOM.enable", {})
        element.location_once_scrolled_into_view  # noqa: B018 - scrolling is the effect
        element.click()

    def fill(self, selector, text):
        """Type into a field."""
        field = self.one(selector)
        field.clear()
        field.send_keys(text)

    def choose(self, selector, value):
        """Choose in a list."""
        Select(self.one(selector)).select_by_value(value)

    def wait(self, found, seconds=60):
        """Wait until something is so, and return it."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                if result := found():
                    return result
            except Exception as error:  # a page that is just being replaced
                last = error
                if "stale" not in str(last) and "no such" not in str(last):
                    raise
            time.sleep(0.05)
        raise AssertionError(f"waited in vain at {self.driver.current_url}")

    def keys(self, *keys):
        """Press keys, wherever the focus is."""
        actions = webdriver.ActionChains(self.driver)
        for key in keys:
            actions.send_keys(key)
        actions.perform()

    def tab_to(self, selector):
        """Press Tab until the focus is there."""
        for _ in range(300):
            focused = self.driver.switch_to.active_element
            if self.driver.execute_script("return arguments[0].matches(arguments[1])", focused, selector):
                return focused
            self.keys(Keys.TAB)
        raise AssertionError(f"Tab does not reach {selector}")

    def look(self, *, width=1200, dark=False):
        """Set the width, and what the system prefers."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def picture(self, file, most=1600):
        """Save the page as a picture."""
        size = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], most), "scale": 1}
        found = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
        Path(file).write_bytes(base64.b64decode(found["data"]))

    def violations(self):
        """What axe finds against WCAG 2.2 AA."""
        self.driver.execute_script(AXE.read_text())
        tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
        found = self.driver.execute_async_script(
            "const done = arguments[1]; axe.run(document, {runOnly: arguments[0]}).then(done)", tags
        )
        return [
            (one["id"], [node["html"][:160] for node in one["nodes"][:3]], one["nodes"][0]["failureSummary"][:200])
            for one in found["violations"]
        ]

    def overflow(self):
        """How far the page is wider than the window."""
        return self.driver.execute_script(
            "const page = document.documentElement; return page.scrollWidth - page.clientWidth"
        )

    def said(self):
        """What the console said since the last look."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def asked(self):
        """Addresses that were asked for since the last look, each with what the browser sent along."""
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                request = message["params"]["request"]
                found.append((request["url"], request["headers"]))
        return found

    def history(self):
        """Every address that the window's history holds."""
        return [entry["url"] for entry in self.driver.execute_cdp_cmd("Page.getNavigationHistory", {})["entries"]]
