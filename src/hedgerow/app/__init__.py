"""A local web application: see a table, decide, publish, ask, watch the attacks; everything stays on this machine.

guard      who may talk to it            workspace  recipe.toml, its versions, the releases beside it
jobs       long work on one thread       charts     pictures as inline SVG
site       layout, errors, addresses     owner      table, roles, promise
preview    what each promise would cost  graphs     the tables and the promise of a graph
publishing the last step of both         published  releases: ask, attacks, certificate, compare
serve      the server itself

Texts are in texts.toml, pages in templates/, the look in static/style.css. Needs the extra [web].
"""
