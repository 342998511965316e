"""Ways to reach the same purpose, and what each of them does, by framework."""

Ways = dict[str, dict[str, str]]  # purpose -> way -> what it does, as the rest of a sentence

# the same in every framework, but for what is said otherwise
_WEIGHTS = {
    "softmax": "takes exponentials and divides by their sum, safely",
    "Softmax": "is `softmax` as a module",
    "log_softmax": "is the logarithm of it, in one safe step",
    "logsumexp": "is the logarithm of the sum, to be subtracted",
    "exp": "takes the exponentials, to be divided by their sum",
}
_ROOTS = {
    "sqrt": "is the square root",
    "rsqrt": "is one over the square root",
    "**": "is a power: 0.5 is the root, -0.5 one over it",
}

_TORCH: Ways = {
    "products of matrices": {
        "@": "multiplies the last two axes, batch by batch",
        "matmul": "is the same product as `@`, as a call",
        "bmm": "is the product for tensors of exactly three axes",
        "einsum": "names each axis by a letter, and sums over those that the result leaves out",
    },
    "axes that change places": {
        "transpose": "exchanges the two axes that it names",
        "mT": "exchanges the last two axes",
        "T": "turns a matrix",
        "permute": "lists all axes in their new order",
        "swapaxes": "is `transpose` by its name in numpy",
        "movedim": "takes one axis to another place",
        "einsum": "gives axes their order by letters",
    },
    "a new shape": {
        "reshape": "keeps the order of the numbers, and copies where it has to",
        "view": "keeps the order of the numbers, and never copies",
        "unflatten": "splits one axis into several",
        "flatten": "joins axes that follow each other",
        "chunk": "cuts an axis into equal parts",
        "split": "cuts an axis into parts of a given size",
        "cat": "joins tensors along an axis",
        "stack": "joins tensors along a new axis",
        "unsqueeze": "adds an axis of size 1",
    },
    "weights that sum to one": _WEIGHTS,
    "a root": _ROOTS | {"pow": "is a power as a call"},
    "what a mask hides": {
        "masked_fill": "puts a value where a mask is true",
        "where": "chooses between two values, place by place",
    },
    "masks by comparison": {
        "arange": "numbers the places, and these are compared",
        "tril": "keeps the lower triangle of a table",
        "triu": "keeps the upper triangle of a table",
    },
    "layers and parameters": {
        "Linear": "is a layer that holds its weight and bias",
        "Parameter": "is a tensor that is trained, multiplied by hand",
        "linear": "is the layer's computation as a function",
    },
    "activations": {
        "ReLU": "is the activation as a module",
        "relu": "is the activation as a function",
        "GELU": "is the activation as a module",
        "gelu": "is the activation as a function",
        "clamp": "cuts what is below a bound, as ReLU does at zero",
        "maximum": "takes the larger of two, as ReLU does with zero",
    },
    "stacks of layers": {
        "Sequential": "holds modules and runs them in turn",
        "ModuleList": "holds modules, and your code runs them",
    },
    "sizes": {
        "shape": "has all sizes",
        "size": "has one size",
    },
    "means and variances": {
        "mean": "is the mean along axes",
        "var": "is the variance; its `correction` has to be 0 here",
        "var_mean": "gives variance and mean at once",
        "sum": "is a sum, to be divided by the number",
    },
    "the loss of given tokens": {
        "cross_entropy": "takes logits, and does softmax, logarithm and mean at once",
        "nll_loss": "takes log-probabilities, and picks those of the targets",
        "gather": "picks one number a row",
    },
}

_KERAS: Ways = {
    "products of matrices": {
        "@": "multiplies the last two axes, batch by batch",
        "matmul": "is the same product as `@`, as a call",
        "einsum": "names each axis by a letter, and sums over those that the result leaves out",
        "tensordot": "sums over the axes that it names",
    },
    "axes that change places": {
        "transpose": "lists all axes in their new order",
        "swapaxes": "exchanges the two axes that it names",
        "moveaxis": "takes one axis to another place",
        "Permute": "is `transpose` as a layer, which leaves the batch aside",
        "einsum": "gives axes their order by letters",
    },
    "a new shape": {
        "reshape": "keeps the order of the numbers",
        "Reshape": "is `reshape` as a layer, which leaves the batch aside",
        "split": "cuts an axis into parts",
        "concatenate": "joins tensors along an axis",
        "stack": "joins tensors along a new axis",
        "expand_dims": "adds an axis of size 1",
    },
    "weights that sum to one": _WEIGHTS | {"Softmax": "is `softmax` as a layer"},
    "a root": _ROOTS | {"power": "is a power as a call"},
    "layers and weights": {
        "Dense": "is a layer that holds its kernel and bias",
        "EinsumDense": "is a layer whose product is written in letters",
        "add_weight": "makes a weight that is trained, multiplied by hand",
    },
    "activations": {
        "Activation": "is the activation as a layer",
        "ReLU": "is the activation as a layer",
        "relu": "is the activation as a function",
        "gelu": "is the activation as a function",
        "maximum": "takes the larger of two, as relu does with zero",
    },
    "stacks of layers": {
        "Sequential": "holds layers and runs them in turn",
        "Add": "is a sum as a layer",
    },
    "means and variances": {
        "mean": "is the mean along axes",
        "var": "is the variance",
        "moments": "gives mean and variance at once",
        "sum": "is a sum, to be divided by the number",
        "GlobalAveragePooling1D": "is the mean over time as a layer",
    },
}

WAYS: dict[str, Ways] = {"torch": _TORCH, "keras": _KERAS}
