import { group, version } from '../engine/objects/names.ts';

/** The apiVersion of everything that a command prints. */
export const apiVersion = `${group}/${version}`;
