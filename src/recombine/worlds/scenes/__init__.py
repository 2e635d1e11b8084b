"""Scenes of many objects: layouts, geometry, a ray caster, Blender, CLEVR, labels."""
