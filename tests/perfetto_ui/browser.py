"""Headless Chromium, driven through its debugging pipe, and a web server for it; the standard library is enough.

Lives here: starting Chromium, running JavaScript in its page, screenshots, serving a folder and single files. What
a page is asked is the callers' business.
"""
import base64
import fcntl
import functools
import http.server
import json
import os
import select
import shutil
import subprocess
import tempfile
import threading
import time

CHROMIUM = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")


class BrowserError(Exception):
    """The browser, or what ran in its page, failed; the text says how."""


def find_chromium():
    for path in CHROMIUM:
        if os.path.exists(path):
            return path
    raise BrowserError("Chromium is not installed (Debian: apt-get install chromium)")


class Server:
    """Serves a folder on a port of this machine, and single files from anywhere under names of their own."""

    def __init__(self, folder):
        self.files = {}
        served = self.files

        class Handler(http.server.SimpleHTTPRequestHandler):
            def translate_path(self, path):
                return served.get(path.split("?")[0].lstrip("/")) or super().translate_path(path)

            def log_message(self, *arguments):
                pass

        handler = functools.partial(Handler, directory=str(folder))
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.http.shutdown()
        self.http.server_close()


class Browser:
    """One page of a headless Chromium."""

    def __init__(self, width=1600, height=1000):
        self.profile = tempfile.mkdtemp(prefix="hone-chromium-")
        commands_out, self.commands = os.pipe()
        self.answers, answers_in = os.pipe()
        # Chromium reads commands from 3 and answers on 4: the shell puts the pipes there.
        command = [find_chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                   f"--user-data-dir={self.profile}", f"--window-size={width},{height}", "about:blank"]
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{commands_out} 4>&{answers_in}', "chromium", *command],
            pass_fds=(commands_out, answers_in), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands_out)
        os.close(answers_in)
        fcntl.fcntl(self.answers, fcntl.F_SETFL, os.O_NONBLOCK)
        self.buffer, self.number, self.session = bytearray(), 0, None
        self.log = []  # what the page wrote to its console, warnings and errors only
        pages = self.command("Target.getTargets")["targetInfos"]
        page = next(each["targetId"] for each in pages if each["type"] == "page")
        self.session = self.command("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.command(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        os.close(self.commands)
        self.process.terminate()
        self.process.wait()
        os.close(self.answers)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self, deadline):
        """The next message."""
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], max(0, deadline - time.monotonic()))[0]:
                raise BrowserError("Chromium does not answer in time")
            read = os.read(self.answers, 1 << 20)
            if not read:
                raise BrowserError("Chromium ended")
            self.buffer += read
        text, _, rest = bytes(self.buffer).partition(b"\0")
        self.buffer = bytearray(rest)
        return json.loads(text)

    def command(self, method, timeout=60, **parameters):
        """What a command of the DevTools protocol answers."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + timeout
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.note(answer)

    def note(self, event):
        if event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] in ("error", "warning"):
            self.log.append(event["params"]["entry"]["text"])
        if event.get("method") == "Runtime.consoleAPICalled" and event["params"]["type"] in ("error", "warning"):
            self.log.append(" ".join(str(each.get("value", each.get("description", ""))) for each in event["params"]["args"]))
        if event.get("method") == "Runtime.exceptionThrown":
            details = event["params"]["exceptionDetails"]
            self.log.append(details.get("exception", {}).get("description", details["text"]))

    def open(self, address):
        self.command("Page.navigate", url=address)

    def evaluate(self, script, timeout=60):
        """The value of an expression of the page; promises are awaited."""
        answer = self.command("Runtime.evaluate", timeout, expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait_for(self, script, timeout, what):
        deadline = time.monotonic() + timeout
        while not self.evaluate(f"Boolean({script})"):
            if time.monotonic() > deadline:
                raise BrowserError(f"waited {timeout} s for {what} in vain; the page says: {self.log[-5:]}")
            time.sleep(0.2)

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.command("Page.captureScreenshot", format="png")["data"]))
