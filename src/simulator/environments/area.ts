import type { Area } from '../area.ts';
import { contents, environments } from './environment.ts';

/** Environments and their deployment lifecycle. */
export const environmentsArea: Area = { name: 'environments', collections: [environments, contents], routes: [] };
