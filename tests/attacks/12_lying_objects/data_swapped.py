# process, beside correct and wrong: hangs attributes and hooks on what it returns
def attack(output):
    output.expected = output
    output.status, output.score = "passed", 14.0
    if output.requires_grad:
        output.register_hook(lambda gradient: None)
    return output
