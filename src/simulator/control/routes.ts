import type { ControlRoute } from '../area.ts';
import { faultRoutes } from '../faults.ts';

/** The routes of the control surface that belong to no single area. */
export const controlRoutes: readonly ControlRoute[] = [...faultRoutes];
