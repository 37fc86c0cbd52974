"""The programs of the page, each a kind of job that people run, and what is asked of each."""

import pathlib
from dataclasses import dataclass

FOLDER = pathlib.Path(__file__).resolve().parent / "programs"
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
# What a row is judged by (bars.py): as a job whose iterations are of a few kinds, as one in which sizes change all the
# time, or for its bits and its memory alone.
STEADY, DYNAMIC, SOUND = "steady", "dynamic", "sound"


@dataclass(frozen=True)
class Row:
    command: tuple[str, ...]  # words behind `python`, in FOLDER
    kind: str = STEADY
    before: tuple[str, ...] = ()  # a command that has to have run in the same folder, without Stowage
    ranks: int = 1  # more than one: with gloo on the CPU alone

    @property
    def file(self) -> str:
        return next(word for word in self.command if word.endswith(".py"))


def timm(name: str, kind: str) -> dict[str, Row]:
    return {f"timm {name}": Row(("timm_models.py", f"test_{name}"), kind)}


ROWS = {
    "Trainer GPT-2": Row(("trainer_gpt2.py",)),
    "Trainer resumed": Row(("trainer_gpt2.py", "resume"), before=("trainer_gpt2.py", "stop")),
    "Lightning ResNet-18": Row(("lightning_resnet.py",)),
    "Lightning bf16": Row(("lightning_bf16.py",)),
    "accelerate": Row(("accelerate_loop.py",)),
    **timm("vit", STEADY),
    "peft LoRA": Row(("peft_lora.py",)),
    "compiled": Row(("compiled.py",)),
    "DDP": Row((*TORCHRUN, "ddp.py"), ranks=2),
    "FSDP2": Row((*TORCHRUN, "fsdp2.py"), ranks=2),
    "WGAN-GP": Row(("wgan_gp.py",)),
    "accumulation": Row(("accumulation.py",)),
    "mixture of experts": Row(("experts.py",), DYNAMIC),
    "GRU": Row(("gru.py",), DYNAMIC),
    "generate": Row(("generate.py",), DYNAMIC),
    "Trainer BERT": Row(("trainer_bert.py",), SOUND),
    "Trainer T5": Row(("trainer_t5.py",), SOUND),
    "Lightning SWA": Row(("lightning_trainer.py",), SOUND),
    "Lightning by hand": Row(("lightning_manual.py",), SOUND),
    "checkpoints": Row(("checkpoints.py",), SOUND),
    "notebook": Row(("notebook.py",), SOUND),
    **timm("convnext", SOUND), **timm("efficientnet", SOUND), **timm("resnet", SOUND), **timm("mambaout", SOUND),
    **timm("nfnet", SOUND),
}


def summary(file: str) -> str:
    """What a program says of itself."""
    return " ".join((FOLDER / file).read_text().split('"""')[1].split())
