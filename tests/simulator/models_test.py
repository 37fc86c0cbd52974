"""Real training loops on the simulated device: every architecture, optimizer and precision that the project speaks of."""
import pytest

TORCHVISION = ["resnet50", "vgg16", "mobilenet_v2"]
LANGUAGE = {
    "gpt2": "tr.GPT2LMHeadModel(tr.GPT2Config(n_layer=2, n_embd=128, n_head=4))",
    "llama": "tr.LlamaForCausalLM(tr.LlamaConfig(num_hidden_layers=2, hidden_size=128, intermediate_size=256,"
             " num_attention_heads=4, num_key_value_heads=2, vocab_size=1000))",
    "bert": "tr.BertForMaskedLM(tr.BertConfig(num_hidden_layers=2, hidden_size=128, num_attention_heads=4))",
}


def test_image_classifiers(simulate):
    simulate(f"""
        import torchvision
        for name in {TORCHVISION}:
            train(getattr(torchvision.models, name)(), classify(), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9))
        train(torchvision.models.googlenet(aux_logits=True, init_weights=False), classify(size=96))
        train(torchvision.models.vit_b_16(), classify(size=224))
    """)


@pytest.mark.parametrize("amp", [None, "torch.bfloat16"])
def test_language_models(simulate, amp):
    makers = "\n".join(f"        train({maker}, predict_tokens(), amp={amp})" for maker in LANGUAGE.values())
    simulate("        import transformers as tr\n" + makers)


def test_unet(simulate):
    simulate("""
        class UNet(nn.Module):
            def __init__(self):
                super().__init__()
                self.down, self.pool = nn.Conv2d(3, 16, 3, padding=1), nn.MaxPool2d(2)
                self.deep, self.norm = nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32)
                self.up, self.out = nn.ConvTranspose2d(32, 16, 2, 2), nn.Conv2d(32, 1, 3, padding=1)

            def forward(self, x):
                side = F.relu(self.down(x))
                return self.out(torch.cat([side, self.up(F.relu(self.norm(self.deep(self.pool(side)))))], 1))
        x = torch.empty(2, 3, 64, 64, device="cuda")
        train(UNet(), lambda m: m(x).mean())
    """)


def test_recurrent(simulate):
    simulate("""
        x = torch.randn(8, 20, 64, device="cuda")
        for made in (nn.LSTM(64, 96, 2, batch_first=True, dropout=0.1), nn.LSTM(64, 96, bidirectional=True),
                     nn.LSTM(64, 96, proj_size=32), nn.GRU(64, 96, 2), nn.RNN(64, 96), nn.LSTM(64, 96, bias=False)):
            assert any(p.data_ptr() for p in made.cuda().parameters())
            train(made, lambda m: m(x)[0].sum())
    """)


def test_optimizers_and_precision(simulate):
    simulate("""
        import torchvision
        made = torchvision.models.resnet18
        for kind in ({"foreach": True}, {"fused": True}, {"foreach": False}):
            train(made(), classify(), lambda p: torch.optim.AdamW(p, **kind))
            train(made(), classify(), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, **kind))
        train(made().to(memory_format=torch.channels_last), classify(), amp=torch.bfloat16)
        train(made(), classify(), amp=torch.float16, scaled=True)
        torch.backends.cudnn.benchmark = True
        train(made(), classify())
        torch.backends.cudnn.enabled = False
        train(made(), classify())
    """)


def test_attention_backends(simulate):
    simulate("""
        from torch.nn.attention import SDPBackend, sdpa_kernel
        q = torch.randn(2, 4, 128, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH):
            with sdpa_kernel(backend):
                F.scaled_dot_product_attention(q, q, q, is_causal=True, dropout_p=0.1).sum().backward()
        assert torch._fused_sdp_choice(q, q, q) == SDPBackend.FLASH_ATTENTION.value
    """)
