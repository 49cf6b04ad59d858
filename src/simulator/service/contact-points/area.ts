import { adminOf, memberOf, permittedIn, regionNamed } from '../accounts/access.ts';
import { regions } from '../accounts/records.ts';
import { alertsUsing } from '../alerts/alert.ts';
import { type AreaAnswer, type Area, type AreaCall, ok, control, route } from '../area.ts';
import {
  choice,
  fields,
  list,
  must,
  object,
  optional,
  queryFlag,
  readFields,
  required,
  sent,
  text,
} from '../../http/fields.ts';
import { date, listed, patched, rejected, requireFree, single } from '../shape.ts';
import type { World } from '../../store/store.ts';
import { arrive, changedConfig, type ContactPoint, contactPointNamed, contactPoints } from './contact-point.ts';
import { contactPointTypes, deployedTo, deployLater, deploys, newConfig, pointFields } from './contact-point.ts';

const pointNames = Object.keys(pointFields) as (keyof typeof pointFields)[];

/** The fields of POST /contact-point beside `type` and `config`; all of them except name are optional. */
const newPoint = { ...pointFields, name: must(pointFields.name) };

/** The fields that PATCH /contact-point may change. */
const patchable = [...pointNames, 'config'];

/** Serves contact points: the destinations to which the service delivers alerts. */
export const contactPointsArea: Area = {
  collections: [contactPoints],
  routes: [
    route('GET /contact-points', ['svc:read'], listPoints, ['accountId']),
    route('GET /contact-point', ['svc:read'], getPoint, ['contactPointId', 'showSecrets']),
    route('POST /contact-point', ['svc:write:config'], postPoint, ['accountId', ...pointNames, 'type', 'config']),
    route('PATCH /contact-point', ['svc:write:config'], patchPoint, ['contactPointId', ...patchable]),
    route('DELETE /contact-point', ['svc:write:config'], deletePoint, ['contactPointId']),
  ],
  timers: { [deploys]: arrive },
  control: [
    control(
      'PATCH /contact-points/:id',
      'sets the regions to which a contact point is deployed: {deployedTo?: [region]}',
      fields({ deployedTo: list(text()) }),
      ({ world, id, body: { deployedTo: given } }) => {
        const point = contactPointNamed(world, id);
        for (const region of given ?? []) regionNamed(world, region);
        if (given !== undefined)
          world.of(contactPoints).put({ ...deployedTo(world, point, given), updatedAt: world.now });
        return ok({ contactPointId: id });
      },
    ),
  ],
};

function listPoints(call: AreaCall): AreaAnswer {
  const accountId = required(call.query, 'accountId', text());
  memberOf(call, accountId);
  const points = listed(call, contactPoints, 'account', accountId);
  return ok({ contactPoints: points.map((point) => shown(call.world, point)) });
}

function getPoint(call: AreaCall): AreaAnswer {
  const { world, query } = call;
  const point = contactPointNamed(world, required(query, 'contactPointId', text()));
  memberOf(call, point.accountId);
  const showSecrets = optional(query, 'showSecrets', queryFlag) ?? false;
  if (showSecrets) permittedIn(call, point.accountId, 'secretsAccess');
  const config = showSecrets ? { config: point.config } : {};
  return ok(single(world, 'contactPoint', { ...shown(world, point), ...config }));
}

function postPoint(call: AreaCall): AreaAnswer {
  const { world, body } = call;
  const accountId = required(body, 'accountId', text());
  adminOf(call, accountId);
  const given = readFields(body, newPoint);
  const type = required(body, 'type', choice(contactPointTypes));
  const config = newConfig(type, required(body, 'config', object));
  requireFreeName(world, accountId, given.name);
  const contactPointId = world.id('cp');
  const [createdAt, updatedAt] = [world.now, world.now];
  const point = { contactPointId, accountId, ...given, type, config, dashboardDeployments: [], createdAt, updatedAt };
  world.change(contactPoints, point, 'contactPoint.created', { name: given.name, type });
  if (world.readings['contactPoints.deploys'] === 'everywhere') {
    for (const region of world.of(regions).all()) deployLater(world, contactPointId, region.name);
  }
  return ok({ message: 'Contact point created', contactPoint: shown(world, point) });
}

function patchPoint(call: AreaCall): AreaAnswer {
  const { world, body } = call;
  const point = contactPointNamed(world, required(body, 'contactPointId', text()));
  adminOf(call, point.accountId);
  const given = readFields(body, pointFields);
  const settings = optional(body, 'config', object);
  const config = settings === undefined ? point.config : changedConfig(point.type, point.config, settings);
  const next = { ...point, ...given, config, updatedAt: world.now };
  if (next.name !== point.name) requireFreeName(world, point.accountId, next.name);
  const changes = patchable.filter((field) => sent(body, field));
  if (changes.length > 0)
    world.change(contactPoints, next, 'contactPoint.updated', { fields: changes, name: next.name });
  return patched(world, 'Contact point updated', { contactPoint: shown(world, next) });
}

function deletePoint(call: AreaCall): AreaAnswer {
  const { world, query } = call;
  const point = contactPointNamed(world, required(query, 'contactPointId', text()));
  adminOf(call, point.accountId);
  const uses = alertsUsing(world, point.contactPointId).length;
  if (uses > 0) {
    const error = 'the contact point is used by alerts';
    const details = `${uses} ${uses === 1 ? 'alert uses' : 'alerts use'} this contact point: delete or update these alerts first`;
    throw rejected(world, error, { error, details });
  }
  world.remove(contactPoints, point, 'contactPoint.deleted', { name: point.name });
  return ok({ message: 'Contact point deleted' });
}

function requireFreeName(world: World, accountId: string, name: string): void {
  requireFree(world, 'contactPoints', world.of(contactPoints).where('name', `${accountId}/${name}`));
}

function shown(world: World, point: ContactPoint): object {
  const { contactPointId, type, accountId, dashboardDeployments } = point;
  const own = Object.fromEntries(pointNames.map((name) => [name, point[name]]));
  const [createdAt, updatedAt] = [date(world, point.createdAt), date(world, point.updatedAt)];
  return { contactPointId, ...own, type, accountId, dashboardDeployments, createdAt, updatedAt };
}
