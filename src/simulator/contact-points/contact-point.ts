import { collection } from '../store/collection.ts';
import { found } from '../http/refusal.ts';
import type { World } from '../store/store.ts';
import type { Config, ConfigType } from './config.ts';

/** A destination of alerts. */
export interface ContactPoint {
  readonly contactPointId: string;
  readonly accountId: string;
  readonly name: string;
  readonly type: ConfigType;
  readonly config: Config;
  /** The regions in which it is deployed. */
  readonly dashboardDeployments: readonly { readonly region: string; readonly dashboardContactPointUid: string }[];
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** All contact points. */
export const contactPoints = collection<ContactPoint>('contactPoints', (point) => point.contactPointId, {
  indexes: {
    account: (point) => point.accountId,
    name: (point) => `${point.accountId}/${point.name}`,
  },
  remembered: true,
});

/** A contact point that exists: 404 otherwise. */
export function contactPointNamed(world: World, contactPointId: string): ContactPoint {
  return found(world.of(contactPoints).get(contactPointId), 'contact point not found');
}

/** The same contact point, deployed in these regions; what is deployed already stays as it is. */
export function deployedTo(world: World, point: ContactPoint, regions: readonly string[]): ContactPoint {
  const dashboardDeployments = [...new Set(regions)].map((region) => {
    const known = point.dashboardDeployments.find((deployment) => deployment.region === region);
    const dashboardContactPointUid = `dcp_${world.hash(point.contactPointId, region).slice(0, 12)}`;
    return known ?? { region, dashboardContactPointUid };
  });
  return { ...point, dashboardDeployments };
}

const deploymentMs = 2000;

/** Schedules the deployment of a contact point to a region. */
export function deployLater(world: World, contactPointId: string, region: string): void {
  world.schedule('contactPoints.deploys', world.now + deploymentMs, { contactPointId, region });
}

/** A contact point is used by an alert in a region. */
export function usedIn(world: World, contactPointId: string, region: string): void {
  if (world.readings['contactPoints.deploys'] !== 'whenUsed') return;
  const { dashboardDeployments } = contactPointNamed(world, contactPointId);
  if (!dashboardDeployments.some((deployment) => deployment.region === region))
    deployLater(world, contactPointId, region);
}

/** A contact point arrives in a region. */
export function arrive(world: World, where: { readonly contactPointId: string; readonly region: string }): void {
  const point = world.of(contactPoints).get(where.contactPointId);
  if (point === undefined) return;
  const regions = [...point.dashboardDeployments.map(({ region }) => region), where.region];
  world.of(contactPoints).put({ ...deployedTo(world, point, regions), updatedAt: world.now });
}
