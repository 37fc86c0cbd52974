"""A tensor in memory that is gone is found in whatever form PyTorch hands it to the device."""

STRAY = """
    import ctypes
    from torch.nn.attention import SDPBackend, sdpa_kernel

    BYTES = 16 << 20  # a segment of its own, so that it goes when the cache is given back
    seen = ctypes.CDLL(None).stowage_sim_last_misuse
    seen.restype = ctypes.c_char_p


    def gone(dtype, *sizes):
        storage = torch.empty(BYTES, dtype=torch.uint8, device="cuda")
        dead = torch._C._construct_storage_from_data_pointer(storage.data_ptr(), storage.device, BYTES)
        del storage
        torch.cuda.empty_cache()
        # Not at its beginning, which is the end of what lives before it.
        return torch.empty(0, dtype=dtype, device="cuda").set_(dead, 4096, sizes)


    def there(dtype, *sizes):
        return torch.zeros(sizes, dtype=dtype, device="cuda")


    def fused(make, strange):
        parts = [(make if at == strange else there)(torch.float, 1 if at == 4 else 64) for at in range(5)]
        torch._fused_adamw_(*([part] for part in parts[:4]), [], [parts[4]], lr=0.1, beta1=0.9, beta2=0.99, weight_decay=0.1,
                            eps=1e-8, amsgrad=False, maximize=False)


    def attention(make, backend):
        query, key = there(torch.bfloat16, 2, 4, 128, 64), make(torch.bfloat16, 2, 4, 128, 64)
        with sdpa_kernel(backend):
            F.scaled_dot_product_attention(query, key, query)


    def normalised(make):
        stats = [there(torch.float, 8) for _ in range(4)]
        F.batch_norm(make(torch.float, 4, 8, 16, 16), *stats, training=True)


    def normalised_backward(make):
        images = there(torch.float, 4, 8, 16, 16).requires_grad_()
        stats = [there(torch.float, 8) for _ in range(4)]
        F.batch_norm(images, *stats, training=True).backward(make(torch.float, 4, 8, 16, 16))


    lstm = nn.LSTM(16, 16, 2, dropout=0.1).cuda()


    def recurrent_backward(make):
        out = lstm(there(torch.float, 5, 3, 16).requires_grad_())[0]
        out.backward(make(torch.float, 5, 3, 16))


    near = there(torch.float, 64, 64)
    WAYS = {
        "multi_tensor_apply": [
            lambda make: torch._foreach_add_([near, make(torch.float, 64, 64)], 1.0),
            lambda make: torch._foreach_add_([near], [make(torch.float, 64, 64)]),
            lambda make: torch._foreach_mul_([near, make(torch.float, 64, 64)], [1.0, 2.0]),
            lambda make: torch._foreach_lerp_([near], [make(torch.float, 64, 64)], 0.5),
            lambda make: torch._foreach_addcdiv_([near], [near], [make(torch.float, 64, 64)], [1.0]),
            *(lambda make, at=at: fused(make, at) for at in range(5)),
        ],
        "elementwise_kernel": [
            lambda make: torch.add(near, make(torch.float, 64, 64).t()),
            lambda make: make(torch.float, 64, 64).t().contiguous(),
            lambda make: make(torch.bfloat16, 64, 64).t().contiguous(),
            lambda make: make(torch.float, 64, 64)[:, ::2].mul_(2.0), lambda make: make(torch.float, 64, 64)[:, ::2] + 1,
            lambda make: 1 / make(torch.float, 64, 64)[:, ::2], lambda make: make(torch.float, 64, 64)[:, ::2].abs(),
            lambda make: make(torch.float, 64, 64)[:, ::2].fill_(1),
            lambda make: near.clone().masked_fill_(make(torch.bool, 64, 64).t(), 1.0),
        ],
        "reduce_kernel": [
            lambda make: make(torch.float, 64, 64).sum(), lambda make: make(torch.float, 64, 64).sum(0),
            lambda make: make(torch.double, 64, 64).sum(), lambda make: make(torch.bfloat16, 64, 64).sum(1),
            lambda make: make(torch.float, 64, 64).mean(), lambda make: make(torch.float, 64, 64).norm(),
            lambda make: make(torch.float, 64, 64).max(0), lambda make: make(torch.float, 64, 64).argmax(1),
            lambda make: torch.sum(near, 0, out=make(torch.float, 64)), lambda make: make(torch.float, 64, 64).var(0),
        ],
        "distribution": [
            lambda make: make(torch.float, 64, 64).uniform_(), lambda make: make(torch.float, 64, 64).normal_(),
            lambda make: make(torch.float, 64, 64)[:, ::2].normal_(), lambda make: make(torch.long, 64).random_(5),
        ],
        "normalization": [normalised, normalised_backward],
        "recurrent": [lambda make: lstm(make(torch.float, 5, 3, 16)), recurrent_backward],
        "flash": [lambda make: attention(make, SDPBackend.FLASH_ATTENTION)],
        "fmha": [lambda make: attention(make, SDPBackend.EFFICIENT_ATTENTION)],
    }
    wrong = []
    for kernel, ways in WAYS.items():
        for at, way in enumerate(ways):
            way(there)
            found = counters().misuses
            try:
                way(gone)
            except RuntimeError as error:
                if kernel.encode() not in seen():
                    wrong += [f"{kernel} {at}: {seen()}"]
            else:
                wrong += [f"{kernel} {at}: not found"]
            assert counters().misuses <= found + 1
    assert not wrong, chr(10).join(wrong)
"""


def test_every_way_in_which_a_tensor_is_given_to_the_device_is_looked_at(simulate):
    simulate(STRAY)
