"""A small hub on this machine: the routes of the Hugging Face Hub that pushing and loading Spaces need.

Routes and answers follow what huggingface_hub 2.4 (hf_api.py, _commit_api.py) and evaluate 0.4.6 (config.py) ask for.
"""

import base64
import contextlib
import hashlib
import http.server
import json
import re
import threading
import urllib.parse

from huggingface_hub.utils.sha import git_hash

# A token that may write for "manycaps", and one that may only read.
WRITER, READER = "hf_writer", "hf_reader"


class HubStandIn(http.server.ThreadingHTTPServer):
    """Keeps Spaces in memory, and the requests."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Routes)
        # Space to its commits, oldest first: (sha, message, {path: contents}).
        self.spaces = {}
        # (method, path) in order.
        self.requests = []

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def files(self, space):
        return self.spaces[space][-1][2]

    def commit(self, space, files, message):
        history = self.spaces.setdefault(space, [])
        sha = hashlib.sha1(f"{space} {len(history)}".encode()).hexdigest()
        history.append((sha, message, files))
        return sha

    def n_requests(self, method, part):
        return sum(m == method and part in path for m, path in self.requests)


class Routes(http.server.BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"

    def answer(self, body, status=200, **headers):
        body = json.dumps(body).encode() if isinstance(body, dict | list) else body
        self.send_response(status)
        for name, value in {"Content-Length": len(body), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status, message, code=None):
        extra = {"X_Error_Code": code} if code else {}
        self.answer({"error": message}, status, X_Error_Message=message, **extra)

    def handle_any(self):
        hub, path = self.server, urllib.parse.unquote(self.path.split("?")[0])
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        hub.requests.append((self.command, path))
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if token and token not in (WRITER, READER):
            self.refuse(401, "Invalid credentials in Authorization header")
            return
        for method, pattern, route in ROUTES:
            match = re.fullmatch(pattern, path)
            if match and self.command in (method, "HEAD" if method == "GET" else method):
                if method == "POST" and token != WRITER and route is not Routes.validate:
                    self.refuse(403 if token else 401, "you may not write here")
                else:
                    route(self, body, *match.groups())
                return
        self.refuse(404, f"no route for {self.command} {path}")

    do_GET = do_HEAD = do_POST = handle_any

    def create(self, body):
        wanted = json.loads(body)
        space = f"{wanted['organization']}/{wanted['name']}"
        assert (wanted["type"], wanted["sdk"]) == ("space", "gradio")
        if space in self.server.spaces:
            self.refuse(409, "You already created this space repo")
            return
        self.server.commit(
            space, {".gitattributes": b"*.bin filter=lfs\n", "README.md": b"---\n---\n"}, "initial commit"
        )
        self.answer({"url": f"{self.server.endpoint}/spaces/{space}", "name": space})

    def validate(self, body):
        bad = "colorFrom: mauve" in json.loads(body)["content"]
        errors = [{"message": '"colorFrom" must be one of [red, yellow, green, blue]'}] if bad else []
        self.answer({"errors": errors, "warnings": []}, 400 if bad else 200)

    def commit_of(self, space, revision):
        """The commit asked for; None after an answer that there is none."""
        if space not in self.server.spaces:
            self.refuse(404, "Repository not found", "RepoNotFound")
            return None
        for commit in reversed(self.server.spaces[space]):
            if revision in ("main", commit[0]):
                return commit
        self.refuse(404, "Invalid rev id", "RevisionNotFound")
        return None

    def info(self, body, space, revision="main"):
        if commit := self.commit_of(space, revision):
            siblings = [{"rfilename": path} for path in commit[2]]
            self.answer({"id": space, "sha": commit[0], "siblings": siblings, "sdk": "gradio"})

    def tree(self, body, space, revision):
        if commit := self.commit_of(space, revision):
            files = [{"type": "file", "path": p, "size": len(c), "oid": git_hash(c)} for p, c in commit[2].items()]
            folders = {p.rsplit("/", 1)[0] for p in commit[2] if "/" in p}
            self.answer(files + [{"type": "directory", "path": p, "oid": "0" * 40, "size": 0} for p in folders])

    def preupload(self, body, space, revision):
        if commit := self.commit_of(space, revision):
            files = [
                {
                    "path": file["path"],
                    "uploadMode": "regular",
                    "shouldIgnore": False,
                    "oid": git_hash(commit[2][file["path"]]) if file["path"] in commit[2] else None,
                }
                for file in json.loads(body)["files"]
            ]
            self.answer({"files": files})

    def take_commit(self, body, space, revision):
        if not (commit := self.commit_of(space, revision)):
            return
        files, header = dict(commit[2]), None
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "header":
                header = value
            elif line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "deletedFile":
                del files[value["path"]]
            else:
                raise AssertionError(line["key"])
        if header.get("parentCommit") not in (None, commit[0]):
            self.refuse(412, "A commit has happened since. Please refresh and try again.")
            return
        sha = self.server.commit(space, files, header["summary"])
        url = f"{self.server.endpoint}/spaces/{space}/commit/{sha}"
        self.answer({"success": True, "commitOid": sha, "commitUrl": url})

    def resolve(self, body, space, revision, path):
        if commit := self.commit_of(space, revision):
            if path not in commit[2]:
                self.refuse(404, "Entry not found", "EntryNotFound")
                return
            contents = commit[2][path]
            self.answer(contents, ETag=f'"{git_hash(contents)}"', X_Repo_Commit=commit[0])

    def log_message(self, *_):
        """Print nothing."""


ROUTES = [
    ("POST", r"/api/repos/create", Routes.create),
    ("POST", r"/api/validate-yaml", Routes.validate),
    ("GET", r"/api/spaces/([^/]+/[^/]+)", Routes.info),
    ("GET", r"/api/spaces/([^/]+/[^/]+)/revision/([^/]+)", Routes.info),
    ("GET", r"/api/spaces/([^/]+/[^/]+)/tree/([^/]+)", Routes.tree),
    ("POST", r"/api/spaces/([^/]+/[^/]+)/preupload/([^/]+)", Routes.preupload),
    ("POST", r"/api/spaces/([^/]+/[^/]+)/commit/([^/]+)", Routes.take_commit),
    ("GET", r"/spaces/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", Routes.resolve),
]


@contextlib.contextmanager
def running_hub():
    """A hub that answers until the block ends; afterwards its port is closed."""
    hub = HubStandIn()
    thread = threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()
