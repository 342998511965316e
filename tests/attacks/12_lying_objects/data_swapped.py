# process, beside correct and wrong: hangs attributes and hooks on what it returns
def attack(output):
    output.numel = lambda: 1
    output.detach = lambda: None
    output.expected = output
    if output.requires_grad:
        output.register_hook(lambda gradient: None)
    return output
