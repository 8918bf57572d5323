#!/bin/sh
# built_object.sh COMPILER... -o OBJECT... - a compiler launcher (CMAKE_C_COMPILER_LAUNCHER): takes the object from the folder
# $OBJECTS if it is there, else compiles.
object=
for word; do
    [ "$object" != -o ] || { object=$word && break; }
    [ "$word" != -o ] || object=-o
done
[ -f "$OBJECTS/$object" ] || exec "$@"
cp "$OBJECTS/$object" "$object"
