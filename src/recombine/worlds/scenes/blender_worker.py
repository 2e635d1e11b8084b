"""Draws scenes with Blender's Python module, in a process of its own: `blender` starts it and reads what it leaves.

The job comes as JSON on standard input: what to draw, with every place and strength as a number; picture i is written
as i.png into the job's folder. Nothing of this package is imported here, so any Python that has `bpy` can run it.
"""

import json
import sys
from importlib import import_module
from math import pi
from typing import Any

NO_BLENDER = 3  # exit status where `bpy` cannot be imported
BEVEL = 0.05  # rounded edges of a cube and a cylinder of half side 1
GROUND_SIDE = 400.0  # so far away that no picture shows its end
BOUNCES = 8


def main() -> int:
    """Do the job on standard input."""
    job = json.load(sys.stdin)
    try:
        bpy = import_module("bpy")
    except ImportError as error:
        print(error, file=sys.stderr)
        return NO_BLENDER
    _start(bpy, job)
    meshes = {shape: _mesh(bpy, shape) for shape in ("ground", "sphere", "cube", "cylinder")}
    for index, scene in enumerate(job["scenes"]):
        _clear(bpy)
        _set_stage(bpy, job, scene, meshes["ground"])
        for number, entry in enumerate(scene["objects"], start=1):
            solid = _add(bpy, f"object {number}", meshes[entry["shape"]], entry["place"])
            solid.scale = (entry["radius"],) * 3
            solid.rotation_euler = (0.0, 0.0, entry["rotation"])
            _cover(solid, _flat(bpy, number) if job["owners"] else _material(bpy, job, entry))
        bpy.context.scene.render.filepath = f"{job['folder']}/{index}.png"
        bpy.ops.render.render(write_still=True)
    return 0


def _start(bpy: Any, job: dict[str, Any]) -> None:
    """An empty scene, and how it is drawn."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    render, cycles = scene.render, scene.cycles
    render.engine, cycles.device = "CYCLES", "CPU"
    render.resolution_x, render.resolution_y, render.resolution_percentage = job["width"], job["height"], 100
    squash = job["aspect"] * job["height"] / job["width"]  # how much wider than high a pixel is
    render.pixel_aspect_x, render.pixel_aspect_y = max(1.0, squash), max(1.0, 1 / squash)
    render.threads_mode, render.threads = "FIXED", job["threads"]
    render.image_settings.file_format, render.image_settings.color_mode = "PNG", "RGB"
    scene.view_settings.view_transform = "Raw" if job["owners"] else "Standard"  # numbers as they are, or sRGB
    cycles.pixel_filter_type, cycles.filter_width = "BOX", 0.01 if job["owners"] else 1.0
    render.dither_intensity = 0.0
    cycles.samples = 1 if job["owners"] else job["samples"]
    cycles.use_adaptive_sampling = False
    cycles.use_denoising = not job["owners"]
    cycles.max_bounces = cycles.diffuse_bounces = cycles.glossy_bounces = 0 if job["owners"] else BOUNCES
    cycles.caustics_reflective = cycles.caustics_refractive = False
    cycles.seed = 0


def _clear(bpy: Any) -> None:
    """Take the last scene away, all but its meshes."""
    data = bpy.data
    bpy.context.scene.world = None
    data.batch_remove([*data.objects, *data.materials, *data.lights, *data.cameras, *data.worlds])


def _set_stage(bpy: Any, job: dict[str, Any], scene: dict[str, Any], ground: Any) -> None:
    """Camera, ground, lamps and sky; a picture of owners has a black ground and no light."""
    camera = _add(bpy, "camera", bpy.data.cameras.new("camera"), scene["camera"])
    camera.data.sensor_fit, camera.data.sensor_width, camera.data.lens = "HORIZONTAL", 1.0, job["focal"]
    camera.data.clip_end = 10 * GROUND_SIDE
    bpy.context.scene.camera = _face_origin(camera)
    _cover(
        _add(bpy, "ground", ground, (0.0, 0.0, 0.0)), _flat(bpy, 0) if job["owners"] else _diffuse(bpy, job["ground"])
    )
    world = bpy.context.scene.world = bpy.data.worlds.new("sky")
    world.use_nodes = True
    world.node_tree.nodes["Background"].inputs["Color"].default_value = (*[job["sky"]] * 3, 1.0)
    for number, lamp in enumerate([] if job["owners"] else scene["lamps"]):
        data = bpy.data.lights.new(f"lamp {number}", "AREA")
        data.shape, data.size, data.energy = "SQUARE", lamp["size"], lamp["watts"]
        _face_origin(_add(bpy, data.name, data, lamp["place"]))


def _add(bpy: Any, name: str, data: Any, place: Any) -> Any:
    thing = bpy.data.objects.new(name, data)
    thing.location = place
    bpy.context.scene.collection.objects.link(thing)
    return thing


def _cover(thing: Any, material: Any) -> None:
    """Give this object a material; others of the same mesh have their own."""
    thing.material_slots[0].link = "OBJECT"
    thing.material_slots[0].material = material


def _face_origin(thing: Any) -> Any:
    thing.rotation_euler = (-thing.location).to_track_quat("-Z", "Y").to_euler()
    return thing


def _mesh(bpy: Any, shape: str) -> Any:
    """A solid that reaches from -1 to 1, its edges rounded; round parts are shaded smooth. Or the ground."""
    bmesh = import_module("bmesh")
    mesh, form = bpy.data.meshes.new(shape), bmesh.new()
    if shape == "ground":
        bmesh.ops.create_grid(form, size=GROUND_SIDE / 2)
    elif shape == "sphere":
        bmesh.ops.create_uvsphere(form, u_segments=96, v_segments=48, radius=1.0)
    elif shape == "cube":
        bmesh.ops.create_cube(form, size=2.0)
    else:
        bmesh.ops.create_cone(form, cap_ends=True, segments=96, radius1=1.0, radius2=1.0, depth=2.0)
    if shape in ("cube", "cylinder"):
        sharp = [edge for edge in form.edges if edge.calc_face_angle() > pi / 4]
        bmesh.ops.bevel(form, geom=sharp, offset=BEVEL, segments=4, profile=0.5, affect="EDGES")
    flat = {"sphere": (), "cube": (0, 1, 2)}.get(shape, (2,))  # axes normal to flat faces
    for face in form.faces:
        face.smooth = not any(abs(face.normal[axis]) > 0.9999 for axis in flat)
    form.to_mesh(mesh)
    form.free()
    mesh.materials.append(None)
    return mesh


def _material(bpy: Any, job: dict[str, Any], entry: dict[str, Any]) -> Any:
    """Rubber scatters light; metal mirrors most of it, a little blurred."""
    material = bpy.data.materials.new(entry["material"])
    material.use_nodes = True
    inputs = material.node_tree.nodes["Principled BSDF"].inputs
    inputs["Base Color"].default_value = (*entry["colour"], 1.0)
    for name, value in job["materials"][entry["material"]].items():
        inputs[name].default_value = value
    return material


def _diffuse(bpy: Any, colour: list[float]) -> Any:
    return _shaded(bpy, "ShaderNodeBsdfDiffuse", (*colour, 1.0))


def _flat(bpy: Any, number: int) -> Any:
    """A surface that shows as the number, of 255."""
    return _shaded(bpy, "ShaderNodeEmission", (*[number / 255] * 3, 1.0))


def _shaded(bpy: Any, kind: str, colour: tuple[float, ...]) -> Any:
    material = bpy.data.materials.new(kind)
    material.use_nodes = True
    nodes = material.node_tree.nodes
    nodes.clear()
    shader, output = nodes.new(kind), nodes.new("ShaderNodeOutputMaterial")
    shader.inputs["Color"].default_value = colour
    material.node_tree.links.new(shader.outputs[0], output.inputs["Surface"])
    return material


if __name__ == "__main__":
    sys.exit(main())
