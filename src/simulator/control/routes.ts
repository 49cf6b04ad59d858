import type { ControlRoute } from '../area.ts';
import { faultRoutes } from '../public/faults.ts';
import { accountRoutes } from './accounts.ts';
import { tokenRoutes } from './tokens.ts';

/** The routes of the control surface that belong to no single area. */
export const controlRoutes: readonly ControlRoute[] = [...accountRoutes, ...tokenRoutes, ...faultRoutes];
