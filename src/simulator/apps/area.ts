import type { Area } from '../area.ts';
import { apps } from './app.ts';

/** Apps: what all environments of a workload share. */
export const appsArea: Area = { name: 'apps', collections: [apps], routes: [] };
