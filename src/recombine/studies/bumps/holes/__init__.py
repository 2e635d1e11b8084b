"""A part of the plane is never seen: experiments on interpolation into it."""
