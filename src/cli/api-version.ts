import { group, version } from '../engine/names.ts';

/** The apiVersion of everything that a command prints. */
export const apiVersion = `${group}/${version}`;
