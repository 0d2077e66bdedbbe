"""The code of docs/integrations.md runs in the released frameworks, in an environment of its own, without network."""

import json
import re
import subprocess

import pytest

from tests.environments import make_environment, outer_variables, pip_install
from tests.tools import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.network]

INTRODUCTION, *SECTIONS = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8").split("\n## ")
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = {section.partition("\n")[0]: "".join(CODE.findall(section)) for section in SECTIONS}

# What each example leaves behind, printed as JSON on the last line.
TENSORBOARD = """
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator("runs/captions")
events.Reload()
found = {name: events.Scalars(name)[0].value for name in events.Tags()["scalars"]}
"""
WANDB = """
import pathlib
from wandb.proto.wandb_internal_pb2 import Record
wandb.teardown()  # its service writes the rest
[log] = pathlib.Path("wandb").glob("offline-run-*/*.wandb")
[kept] = pathlib.Path("wandb").glob("offline-run-*/files/media/table/*.json")
assert json.loads(kept.read_text())["data"][0][0] == str(predictions[0])
content, found = log.read_bytes()[7:], {}
while content:  # checksum, length, kind, and a record
    n_bytes, record = int.from_bytes(content[4:6], "little"), Record()
    record.ParseFromString(content[7 : 7 + n_bytes])
    content = content[7 + n_bytes :]
    found |= {item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
"""
MLFLOW = """
[run] = mlflow.search_runs(output_format="list")
found = run.data.metrics
assert run.data.tags["signature"] == result["signature"]
assert mlflow.artifacts.load_dict(run.info.artifact_uri + "/rows.json") == rows
"""
LIGHTEVAL = """
from lighteval.logging.info_loggers import MetricsLogger
from lighteval.metrics import apply_metric
from lighteval.models.model_output import ModelResponse
from lighteval.tasks.lighteval_task import LightevalTask
made, logger = LightevalTask(task), MetricsLogger()
documents = [as_document({"question": str(i), "references": row}) for i, row in enumerate(references)]
for values in apply_metric([ModelResponse(text=row) for row in predictions], documents, made.metrics):
    logger.log("captions", values)
logger.aggregate({"captions": made}, bootstrap_iters=10)
found = logger.metric_aggregated["captions"]
"""
INSPECT = """
import inspect_ai
from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelOutput, ModelUsage, get_model
outputs = [
    ModelOutput(
        choices=[ChatCompletionChoice(message=ChatMessageAssistant(content=caption)) for caption in row],
        usage=ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2),  # else a tokenizer is downloaded
    )
    for row in predictions
]
model = get_model("mockllm/model", custom_outputs=outputs)
[log] = inspect_ai.eval(task, model=model, log_dir="logs", display="none", max_samples=1)
assert log.status == "success", log.error
found = {name: each.value for score in log.results.scores for name, each in score.metrics.items()}
assert log.samples[0].scores["captions"].metadata["predictions"] == predictions[0]
"""
AFTER = {
    "TensorBoard": TENSORBOARD,
    "Weights & Biases": WANDB,
    "MLflow": MLFLOW,
    "lighteval": LIGHTEVAL,
    "Inspect": INSPECT,
}

# What the module itself gives of the same rows.
EXPECTED = {
    "trm_cider": "expected = result\n",
    "human_parity": """
expected = manycaps.load("human_parity").compute(predictions=predictions, references=references)
""",
}
END = """
import math
expected = {name: value for name, value in expected.items() if isinstance(value, (int, float)) and math.isfinite(value)}
print(json.dumps([expected, {name: value for name, value in found.items() if name in expected}]))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Python of an environment that has the frameworks, and sees the packages of this one."""
    python = make_environment(tmp_path_factory.mktemp("frameworks") / "environment")
    listed = ROOT / "tests" / "requirements-integrations.txt"
    installed = subprocess.run([*pip_install(python), "-r", listed], capture_output=True, text=True, check=False)
    if installed.returncode:
        pytest.skip(f"needs PyPI: {installed.stderr.strip().splitlines()[-1]}")
    return python


def test_every_example_is_run():
    assert set(EXAMPLES) == {*AFTER, "lmms-eval and VLMEvalKit"}  # of the last one see test_coco_callers.py


@pytest.mark.parametrize("name", AFTER)
def test_a_framework_has_the_numbers_of_the_module(name, python, tmp_path):
    module = "human_parity" if name in ("lighteval", "Inspect") else "trm_cider"
    program = "\n".join(
        ["import json", *CODE.findall(INTRODUCTION), EXAMPLES[name], AFTER[name], EXPECTED[module], END]
    )
    ran = subprocess.run(
        [str(python), "-c", program],
        cwd=tmp_path,
        env={**outer_variables(), "PYTHONPATH": str(ROOT), "MLFLOW_ALLOW_FILE_STORE": "true"}
        | {"MLFLOW_TRACKING_URI": "file:runs", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    expected, found = json.loads(ran.stdout.splitlines()[-1])
    assert len(expected) > 2
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)  # float32, of a network and of TensorBoard
