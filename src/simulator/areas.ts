import { appsArea } from './apps/area.ts';
import type { Area } from './area.ts';
import { environmentsArea } from './environments/area.ts';
import { presets } from './presets.ts';

/** Every area of the interface; see area.ts for how one plugs in. */
export const areas: readonly Area[] = [presets, appsArea, environmentsArea];
