"""Reasons of exceptions about sizes, with the sizes that torch names."""

import ast
import re
from math import prod

from grader.compare.evidence import COUNT_VALUES
from grader.compare.scene import Reason, Scene
from grader.compare.statement import Layer, shown
from grader.course.traps import Trap
from grader.records.text import shown_shape

Found = re.Match[str]
_TURNS = re.compile(r"transpose|permute|swapaxes|movedim|einsum|\.mT\b|\.T\b|\.t\(\)")
_PRODUCT = re.compile(r"@|matmul|bmm|einsum|\bmm\(|\bdot\(")
_PUT_BACK = re.compile(r"unsqueeze|expand_dims|\bNone\b|newaxis")
_LAID_ANEW = re.compile(r"\.(view|reshape|flatten|permute|transpose|contiguous)\(")
_REVERSES = re.compile(r"\.T\b|\.t\(\)")


def product(found: Found, scene: Scene) -> Reason:
    """Say why a matrix product fails: of a layer, or of two tensors of the submission's."""
    rows, came, due, out = (int(number) for number in found.groups())
    if linear := scene.line.made_as("Linear"):
        layer, made = linear
        if overwritten := _overwritten(scene, layer, found):
            return overwritten
        brought = scene.rearranging((rows, came), (scene.input_rows, due))
        if brought:
            return Reason(
                f"`{layer.name}` gets {rows} vectors of {came} numbers and needs vectors of {due}: "
                f"if they still lie as {brought.written}, {shown_shape(brought.taken)} here, "
                f"bring them together with `{brought.name}` first",
                Trap.NOT_BROUGHT_BACK,
            )
        return _of_layer(scene, layer, made, found)
    what = f"rows of {came} numbers cannot be multiplied with a matrix of {due} rows"
    if came == out and not scene.line.layers:
        text = f"{what} and {out} columns: is the matrix the wrong way round?"
        return Reason(text, Trap.WEIGHT_TURNED)
    return Reason(f"{what}: print both shapes just before the line")


def _overwritten(scene: Scene, layer: Layer, found: Found) -> Reason | None:
    """Say where a name got another value, whose first value would have fitted a layer."""
    _, came, due, _ = (int(number) for number in found.groups())
    name = scene.line.input_name
    fits = scene.input_shape[-1:] == (due,)
    line = scene.line.assigned(name) if name and fits and layer.argument == name else 0
    if not line:
        return None
    return Reason(
        f"`{layer.name}` takes vectors of length {due} and gets vectors of length {came}: line "
        f"{line} gives `{name}` another value. Should `{layer.name}` read what came in? Then give "
        "that value another name",
        Trap.ANOTHER_INPUT,
    )


def _of_layer(scene: Scene, layer: Layer, made: ast.Call, found: Found) -> Reason:
    _, came, due, out = (int(number) for number in found.groups())
    needs = f"`{layer.name}` takes vectors of length {due}"
    own, argument = scene.line.input_name, layer.argument
    moved = _LAID_ANEW.search(scene.line_of(scene.line.assigned(argument)))
    if own and argument not in ("", own) and not moved and scene.input_shape[-1:] == (due,):
        return Reason(
            f"{needs}, as `{own}` has, and gets `{argument}`, whose vectors have length {came}: "
            f"should it read `{own}`?",
            Trap.ANOTHER_INPUT,
        )
    how = f"{needs} and gets vectors of length {came}: it is made as `{shown(made)}`"
    if came == out and len(made.args) > 1:
        return Reason(f"{how}: are its sizes exchanged, or should it read another tensor?")
    return Reason(f"{how}: is the layer wrong, or what it gets?")


def batched(found: Found, scene: Scene) -> Reason:
    """Say why a product of two batches of matrices fails."""
    first, inner, other, rows = (int(number) for number in found.groups())
    if _REVERSES.search(scene.code):
        return _reversed(scene)
    if first != other:
        return Reason(
            f"one tensor holds {first} matrices and the other {other}: the axes before the last "
            "two have to agree"
        )
    if not _PRODUCT.search(scene.code):
        return Reason(
            f"within what is called there rows of {inner} numbers would need {inner} rows to be "
            f"multiplied with, and there are {rows}: print the shapes of what you pass"
        )
    turn = (
        "look at which axes change places"
        if _TURNS.search(scene.code)
        else "do two axes of one of them have to change places, or is it another tensor?"
    )
    return Reason(
        f"the first factor has rows of {inner} numbers, so the second needs {inner} rows, and it "
        f"has {rows}: {turn}"
    )


def _reversed(scene: Scene) -> Reason:
    return Reason(
        "`.T` and `.t()` are for matrices: of three axes exchange the last two alone, "
        f"{scene.evidence.words.turned}",
        Trap.AXES_REVERSED,
    )


def unequal(found: Found, scene: Scene) -> Reason:
    """Say why two tensors cannot be added, multiplied or divided number by number."""
    one, other, axis = (int(number) for number in found.groups())
    if _REVERSES.search(scene.code):
        return _reversed(scene)
    if name := next(scene.line.sums(), ""):
        kept = scene.evidence.words.axis_kept
        back = ", in place of putting one back" if _PUT_BACK.search(scene.code) else ""
        return Reason(
            f"`{name}` drops the axis that it runs over, so its result meets the wrong axis "
            f"({one} and {other}): keep the axis, with {kept}{back}",
            Trap.AXIS_DROPPED,
        )
    if scene.line.multiplies and not _PRODUCT.search(scene.code):
        return Reason(
            f"`*` multiplies number by number, so both sides need the same shape, and along axis "
            f"{axis} one has {one} and the other {other}: a product of matrices is written `@`"
        )
    return Reason(
        f"along axis {axis} one tensor has {one} and the other {other}: shapes are compared from "
        "the last axis on, so print both just before the line"
    )


def expanded(found: Found, scene: Scene) -> Reason:
    """Say why something does not fit into a slice, or cannot be spread out."""
    due, came, axis = (int(number) for number in found.groups())
    if scene.line.fills_slice:
        return Reason(
            f"what stands on the left of the = has {due} places along axis {axis}, and what is "
            f"put there has {came}",
            Trap.SLICE_FILLED,
        )
    return Reason(f"an axis of {came} cannot be spread to {due}: only one of size 1 can")


def not_contiguous(found: Found, scene: Scene) -> Reason:  # noqa: ARG001 - as all rules
    """Say why a view is refused."""
    return Reason(
        "`view` does not copy, and the numbers of this tensor do not lie in order, as after a "
        "transpose: use `reshape`",
        Trap.NOT_CONTIGUOUS,
    )


def regrouped(found: Found, scene: Scene) -> Reason:  # noqa: ARG001 - as all rules
    """Say why numbers do not fit into a shape."""
    sizes, count = [int(n) for n in found[1].split(",")], int(found[2])
    given = [size for size in sizes if size != -1]
    if -1 in sizes:
        return Reason(
            f"{count} numbers cannot be shared out evenly over {prod(given)}, the product of the "
            "other sizes: print the shape just before the line"
        )
    return Reason(
        f"the new shape holds {prod(given)} numbers and the tensor {count}: print its shape just "
        "before the line"
    )


def normalized(found: Found, scene: Scene) -> Reason:
    """Say why a layer norm refuses its input."""
    norm = scene.line.made_as("LayerNorm")
    name = f"`{norm[0].name}`" if norm else "the layer norm"
    return Reason(
        f"{name} is made for vectors of length {found[1]} and gets the shape "
        f"({found[2]}): it norms the last axis"
    )


def axis_beyond(found: Found, scene: Scene) -> Reason:  # noqa: ARG001 - as all rules
    """Say which axes a tensor has."""
    lowest, asked = abs(int(found[1])), int(found[2])
    return Reason(
        f"the tensor has {lowest} axes, numbered from 0 to {lowest - 1}: there is no axis {asked}"
    )


def permuted(found: Found, scene: Scene) -> Reason:  # noqa: ARG001 - as all rules
    """Say that permute names another number of axes."""
    return Reason(f"the tensor has {found[1]} axes, and permute names {found[2]}: name each once")


def joined(found: Found, scene: Scene) -> Reason:  # noqa: ARG001 - as all rules
    """Say why tensors cannot be joined."""
    return Reason(
        f"tensors joined along axis {found[1]} have to agree in all others: {found[2]} and "
        f"{found[3]} do not"
    )


def unpacked(found: Found, scene: Scene) -> Reason:
    """Say why there are not as many values as names."""
    due = found[1]
    if re.search(r"\.shape\b|\.size\(\)", scene.code):
        came = f"has {found[2]}" if found.lastindex == 2 else "has more"
        return Reason(f"{due} names stand on the left of the =, and the shape {came} sizes")
    return _cut(found, scene) or Reason(COUNT_VALUES)


def _cut(found: Found, scene: Scene) -> Reason | None:
    """Say along which axis a tensor is cut into its parts, where a call does that on the right."""
    value = scene.line.node.value if isinstance(scene.line.node, ast.Assign) else None
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return None
    function, of_torch = value.func.attr, isinstance(value.func.value, ast.Name)
    of_torch = of_torch and value.func.value.id == "torch"  # type: ignore[attr-defined]
    if function not in _CUTS:
        return None
    place = _CUTS[function] + of_torch
    named = [word.value for word in value.keywords if word.arg in ("dim", "axis")]
    axis = [*named, *value.args[place : place + 1]]
    dim = shown(axis[0]) if axis else "0"
    came = f"{found[2]} part{'' if found[2] == '1' else 's'}" if found.lastindex == 2 else "more"
    return Reason(
        f"{found[1]} names stand on the left of the =, and `{function}` gives {came}: it cuts "
        f"along axis {dim}, is that the one that you mean?"
    )


_CUTS = {"split": 1, "chunk": 1, "tensor_split": 1, "unbind": 0}  # where their axis stands


def subscripts(found: Found, scene: Scene) -> Reason:  # noqa: ARG001 - as all rules
    """Say which letter of einsum stands for two sizes."""
    return Reason(
        f"the letter {found[1]} stands for two sizes, {found[3]} and {found[2]}: print the shapes "
        "of both tensors"
    )


def letters(found: Found, scene: Scene) -> Reason:  # noqa: ARG001 - as all rules
    """Say that einsum names another number of axes."""
    return Reason(
        f"einsum has {found[1]} letters for a tensor of {found[2]} axes (number {found[3]}, "
        "counted from 0): give each axis a letter"
    )


def table_too_short(found: Found, scene: Scene) -> Reason:  # noqa: ARG001 - as all rules
    """Say that a table has fewer rows than an index asks for, and how it is made."""
    table = scene.line.made_as("Embedding")
    if table is None or len(table[1].args) < 2:
        return Reason(
            "an index is below 0 or beyond the last row of the table: print the smallest and the "
            "largest index, and how many rows there are",
            Trap.INDEX_BEYOND,
        )
    rows, width = (shown(one) for one in table[1].args[:2])
    return Reason(
        f"an index is below 0 or beyond the last row of `{table[0].name}`, which is made with "
        f"`{rows}` rows of length `{width}`: are there too few, or is the index wrong?"
    )


def sum_of_parts(found: Found, scene: Scene) -> Reason:  # noqa: ARG001 - as all rules
    """Say that the parts of a split do not make the whole."""
    return Reason(f"the parts have to add up to {found[1]}, and [{found[2]}] do not")


RULES = (
    (r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)", product),
    (r"batch2 tensor to be: \[(\d+), (\d+)\] but got: \[(\d+), (\d+)\]", batched),
    (r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) .*dimension (\d+)",
     unequal),
    (r"expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\) "
     r".*?dimension (\d+)", expanded),
    (r"view size is not compatible", not_contiguous),
    (r"shape '\[(-?\d+(?:, -?\d+)*)\]' is invalid for input of size (\d+)", regrouped),
    (r"Given normalized_shape=\[(\d+)\].*input of size\[([\d, ]+)\]", normalized),
    (r"Dimension out of range \(expected to be in range of \[(-\d+), \d+\], but got (-?\d+)\)",
     axis_beyond),
    (r"input\.dim\(\) = (\d+) is not equal to len\(dims\) = (\d+)", permuted),
    (r"must match except in dimension (\d+)\. Expected size (\d+) but got size (\d+)", joined),
    (r"not enough values to unpack \(expected (\d+), got (\d+)\)", unpacked),
    (r"too many values to unpack \(expected (\d+)\)", unpacked),
    (r"subscript (\w) has size (\d+) .*previously seen size (\d+)", subscripts),
    (r"subscripts in the equation \((\d+)\) .*dimensions \((\d+)\) for operand (\d+)", letters),
    (r"index out of range in self", table_too_short),
    (r"selected index k out of range", lambda *_: Reason(
        "more of the largest numbers are asked for than that axis has: is it the right axis? If "
        "so, ask for as many as there are at most, with min(...)")),
    (r"probability tensor contains either", lambda *_: Reason(
        "what is drawn from holds a NaN, an infinite or a negative number: look at what makes it")),
    (r"split_sizes to sum exactly to (\d+) .*split_sizes=\[([\d, ]+)\]", sum_of_parts),
)  # fmt: skip
