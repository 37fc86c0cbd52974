"""The models that tests and benchmarks share, with random weights and made data; nothing is downloaded.

    job = build("resnet50", "small", "cpu")
    for i in range(20): job.step(i)

`small` is for the CPU: under half a second an iteration. `full` is the size people train, for a GPU or the
simulated device. A name can be asked for in either size on either device. Where MONeT (ICLR 2021) published batch and
image size of a model, those are its full size: GoogLeNet 320, VGG-16 176, MobileNetV2 272, U-Net 11 at 416 x 608.
resnet50 is at 64 and resnet50_b184 at MONeT's batch.
vit_b, gpt2, llama and bert are torchvision's and transformers' models; those of tests/zoo/attention.py need only torch.
"""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

from tests.zoo import attention
from tests.zoo.job import Batch, GanJob, Job
from tests.zoo.unet import UNet

SIZES = ("small", "full")
SEED = 1
_builders: dict[str, Callable[[str, torch.device], Job]] = {}


def names() -> list[str]:
    return list(_builders)


def build(name: str, size: str = "small", device: str | torch.device = "cpu") -> Job:
    """The job `name` at its start, always from the same seed. Raises ValueError for an unknown name or size.

    Full-size models are made on the device itself: on the CPU that takes seconds.
    """
    if name not in _builders or size not in SIZES:
        raise ValueError(f"no job {name!r} in size {size!r}; names: {', '.join(_builders)}; sizes: {', '.join(SIZES)}")
    torch.manual_seed(SEED)
    with torch.device(device if size == "full" else "cpu"):
        return _builders[name](size, torch.device(device))


def _register(name: str):
    def keep(builder):
        _builders[name] = builder
        return builder
    return keep


def _pick(size: str, small, full):
    return small if size == "small" else full


# -- made data ---------------------------------------------------------------------------------------------------------

def _images(batch: int, side: int | tuple[int, int], classes: int, channels: int = 3, count: int = 2) -> list[Batch]:
    height, width = side if isinstance(side, tuple) else (side, side)
    draw = torch.Generator().manual_seed(SEED)
    return [(torch.randn(batch, channels, height, width, generator=draw, device="cpu"),
             torch.randint(classes, (batch,), generator=draw, device="cpu")) for _ in range(count)]


def _tokens(batch: int, length: int, vocabulary: int, count: int = 2) -> list[Batch]:
    draw = torch.Generator().manual_seed(SEED)
    return [(torch.randint(vocabulary, (batch, length), generator=draw, device="cpu"),) for _ in range(count)]


# -- losses ------------------------------------------------------------------------------------------------------------

def _classify(model: nn.Module, batch: Batch) -> torch.Tensor:
    images, labels = batch
    return F.cross_entropy(model(images), labels)


def _classify_with_auxiliaries(model: nn.Module, batch: Batch) -> torch.Tensor:
    images, labels = batch
    main, second, first = model(images)
    return F.cross_entropy(main, labels) + 0.3 * (F.cross_entropy(second, labels) + F.cross_entropy(first, labels))


def _segment(model: nn.Module, batch: Batch) -> torch.Tensor:
    images, _ = batch
    return F.cross_entropy(model(images), (images[:, 0] > 0).long())


def _language(model: nn.Module, batch: Batch) -> torch.Tensor:
    (ids,) = batch
    return model(input_ids=ids, labels=ids).loss


def _sgd_job(name: str, device, model: nn.Module, batches, loss=_classify, **rest) -> Job:
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    return Job(name, device, model, optimizer, batches, loss, **rest)


def _adamw_job(name: str, device, model: nn.Module, batches, loss=_language, **rest) -> Job:
    model = model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    return Job(name, device, model, optimizer, batches, loss, **rest)


# -- image models ------------------------------------------------------------------------------------------------------

def _classes(size: str) -> int:
    return _pick(size, 10, 1000)


@_register("resnet50")
def _resnet50(size, device):
    from torchvision.models import resnet50
    return _sgd_job("resnet50", device, resnet50(num_classes=_classes(size)),
                    _images(*_pick(size, (2, 64), (64, 224)), _classes(size)))


@_register("resnet50_b184")
def _resnet50_b184(size, device):
    from torchvision.models import resnet50
    return _sgd_job("resnet50_b184", device, resnet50(num_classes=_classes(size)),
                    _images(*_pick(size, (2, 64), (184, 224)), _classes(size)))


@_register("resnet18")
def _resnet18(size, device):
    from torchvision.models import resnet18
    return _sgd_job("resnet18", device, resnet18(num_classes=_classes(size)),
                    _images(*_pick(size, (4, 48), (128, 224)), _classes(size)))


@_register("googlenet")
def _googlenet(size, device):
    from torchvision.models import GoogLeNet
    model = GoogLeNet(num_classes=_classes(size), aux_logits=True, init_weights=False)
    return _sgd_job("googlenet", device, model, _images(*_pick(size, (2, 64), (320, 224)), _classes(size)),
                    _classify_with_auxiliaries)


@_register("unet")
def _unet(size, device):
    model = UNet(*_pick(size, (8, 3), (64, 4)))
    return _sgd_job("unet", device, model, _images(*_pick(size, (2, 64), (11, (416, 608))), 2), _segment)


@_register("vgg16")
def _vgg16(size, device):
    from torchvision.models.vgg import VGG, cfgs, make_layers
    if size == "full":
        return _sgd_job("vgg16", device, VGG(make_layers(cfgs["D"]), init_weights=False), _images(176, 224, 1000))
    model = VGG(make_layers([c if c == "M" else c // 8 for c in cfgs["D"]]), num_classes=10, init_weights=False)
    model.classifier = nn.Sequential(nn.Linear(64 * 49, 64), nn.ReLU(True), nn.Dropout(), nn.Linear(64, 10))
    return _sgd_job("vgg16", device, model, _images(2, 64, 10))


@_register("mobilenet_v2")
def _mobilenet_v2(size, device):
    from torchvision.models import mobilenet_v2
    return _sgd_job("mobilenet_v2", device, mobilenet_v2(num_classes=_classes(size)),
                    _images(*_pick(size, (2, 64), (272, 224)), _classes(size)))


@_register("vit_b")
def _vit_b(size, device):
    from torchvision.models import VisionTransformer
    image, patch, layers, heads, width = _pick(size, (32, 8, 3, 4, 64), (224, 16, 12, 12, 768))
    with torch.device("cpu"):  # PyTorch compiles a CUDA kernel for its truncated normal distribution at run time
        model = VisionTransformer(image, patch, layers, heads, width, 4 * width, dropout=0.1, num_classes=_classes(size))
    return _adamw_job("vit_b", device, model, _images(_pick(size, 4, 64), image, _classes(size)), _classify)


# -- language models ---------------------------------------------------------------------------------------------------

@_register("gpt2")
def _gpt2(size, device):
    from transformers import GPT2Config, GPT2LMHeadModel
    layers, heads, width, length, vocabulary = _pick(size, (3, 4, 64, 64, 512), (12, 12, 768, 1024, 50257))
    config = GPT2Config(n_layer=layers, n_head=heads, n_embd=width, n_positions=length, vocab_size=vocabulary,
                        bos_token_id=0, eos_token_id=0, use_cache=False)
    return _adamw_job("gpt2", device, GPT2LMHeadModel(config), _tokens(_pick(size, 2, 8), length, vocabulary))


@_register("llama")
def _llama(size, device):
    from transformers import LlamaConfig, LlamaForCausalLM
    layers, heads, width, length, vocabulary = _pick(size, (3, 4, 64, 64, 512), (12, 16, 1024, 1024, 32000))
    config = LlamaConfig(num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=heads // 2,
                         hidden_size=width, intermediate_size=width * 11 // 4, max_position_embeddings=length,
                         vocab_size=vocabulary, use_cache=False)
    return _adamw_job("llama", device, LlamaForCausalLM(config), _tokens(_pick(size, 2, 4), length, vocabulary))


@_register("bert")
def _bert(size, device):
    from transformers import BertConfig, BertForMaskedLM
    layers, heads, width, length, vocabulary = _pick(size, (3, 4, 64, 64, 512), (12, 12, 768, 512, 30522))
    config = BertConfig(num_hidden_layers=layers, num_attention_heads=heads, hidden_size=width,
                        intermediate_size=4 * width, max_position_embeddings=length, vocab_size=vocabulary)
    return _adamw_job("bert", device, BertForMaskedLM(config), _tokens(_pick(size, 2, 16), length, vocabulary))


class _LstmLanguageModel(nn.Module):
    def __init__(self, vocabulary: int, width: int, layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True, dropout=0.2)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(self.embed(ids))[0])


def _next_token(model: nn.Module, batch: Batch) -> torch.Tensor:
    (ids,) = batch
    return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())


@_register("lstm")
def _lstm(size, device):
    vocabulary, width, layers = _pick(size, (200, 64, 2), (10000, 1024, 2))
    batches = _tokens(*_pick(size, (4, 32), (64, 128)), vocabulary)
    return _sgd_job("lstm", device, _LstmLanguageModel(vocabulary, width, layers), batches, _next_token)


# -- the same kinds of models without other libraries ---------------------------------------------------------------

def _predict_next(model: nn.Module, batch: Batch) -> torch.Tensor:
    (ids,) = batch
    return F.cross_entropy(model(ids).flatten(0, 1), ids.roll(-1, 1).flatten())


def _fill_in(model: nn.Module, batch: Batch) -> torch.Tensor:
    (ids,) = batch
    return F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())


def _gpt2_of(name: str, layers: int, heads: int, width: int, batch: int):
    @_register(name)
    def build(size, device):
        shape = _pick(size, (3, 4, 64, 64, 512), (layers, heads, width, 1024, 50257))
        return _adamw_job(name, device, attention.Gpt2(*shape), _tokens(_pick(size, 2, batch), *shape[-2:]), _predict_next)


def _bert_of(name: str, layers: int, heads: int, width: int, batch: int):
    @_register(name)
    def build(size, device):
        shape = _pick(size, (3, 4, 64, 64, 512), (layers, heads, width, 512, 30522))
        return _adamw_job(name, device, attention.Bert(*shape), _tokens(_pick(size, 2, batch), *shape[-2:]), _fill_in)


_gpt2_of("gpt2_small", 12, 12, 768, batch=8)
_gpt2_of("gpt2_medium", 24, 16, 1024, batch=4)
_bert_of("bert_base", 12, 12, 768, batch=16)
_bert_of("bert_large", 24, 16, 1024, batch=8)


def _vit_of(name: str, layers: int, heads: int, width: int, batch: int):
    @_register(name)
    def build(size, device):
        side, *rest = _pick(size, (32, 8, 3, 4, 64), (224, 16, layers, heads, width))
        model = attention.Vit(side, *rest, classes=_classes(size))
        return _adamw_job(name, device, model, _images(_pick(size, 4, batch), side, _classes(size)), _classify)


_vit_of("vit_b16", 12, 12, 768, batch=64)
_vit_of("vit_l16", 24, 16, 1024, batch=32)


@_register("llama_1b")
def _llama_1b(size, device):
    """As TinyLlama 1.1B."""
    shape = _pick(size, (3, 4, 2, 64, 176, 64, 512), (22, 32, 4, 2048, 5632, 2048, 32000))
    return _adamw_job("llama_1b", device, attention.Llama(*shape), _tokens(2, *shape[-2:]), _predict_next)


# -- small jobs with a habit each --------------------------------------------------------------------------------------

def _perceptron(inputs: int, width: int, outputs: int, dropout: float = 0.0) -> nn.Sequential:
    return nn.Sequential(nn.Flatten(), nn.Linear(inputs, width), nn.ReLU(), nn.Dropout(dropout),
                         nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, outputs))


@_register("mlp")
def _mlp(size, device):
    width, batch = _pick(size, (128, 32), (4096, 4096))
    return _sgd_job("mlp", device, _perceptron(3 * 16 * 16, width, 10), _images(batch, 16, 10))


@_register("dropout")
def _dropout(size, device):
    width, batch = _pick(size, (128, 32), (4096, 4096))
    return _adamw_job("dropout", device, _perceptron(3 * 16 * 16, width, 10, 0.3), _images(batch, 16, 10), _classify)


@_register("accumulate")
def _accumulate(size, device):
    width, batch = _pick(size, (128, 16), (4096, 2048))
    return _adamw_job("accumulate", device, _perceptron(3 * 16 * 16, width, 10, 0.1), _images(batch, 16, 10, count=4),
                      _classify, accumulate=4)


class _Gan(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.noise_width = width
        self.generator = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, 3 * 16 * 16), nn.Tanh())
        self.discriminator = _perceptron(3 * 16 * 16, 4 * width, 1, 0.2)


@_register("gan")
def _gan(size, device):
    width, batch = _pick(size, (32, 16), (1024, 2048))
    model = _Gan(width).to(device)
    optimizers = [torch.optim.Adam(part.parameters(), lr=2e-4) for part in (model.generator, model.discriminator)]
    batches = [(images,) for images, _ in _images(batch, 16, 10)]
    return GanJob("gan", device, model, optimizers[0], batches, _classify, second_optimizer=optimizers[1])
