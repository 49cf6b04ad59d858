// Handles POST /disaster-readiness/reset, which removes protections in any state. A reset has no requestId: the client confirms it by a
// name, and repeats it until nothing is left to do.
import { accountNamed } from '../../accounts/access.ts';
import { type AreaAnswer, type AreaCall, ok } from '../../area.ts';
import { required, text } from '../../http/fields.ts';
import { invalid, notFound } from '../../http/refusal.ts';
import { rejected } from '../../public/shape.ts';
import type { World } from '../../store/store.ts';
import { fence, ownedDestinations, refusedReset, wiped } from '../rules.ts';
import type { Configuration } from '../model.ts';
import { configurationOf, configurations, keep, protectionOf, wipe } from '../rows.ts';
import { environmentIn } from '../surroundings.ts';
import { resetBody } from './bodies.ts';
import { accountOfAdmin } from './journaled.ts';

/** Removes the protection of one environment, or all protections of an account. */
export function reset(call: AreaCall): AreaAnswer {
  const { world } = call;
  const accountId = accountOfAdmin(call);
  const account = accountNamed(world, accountId);
  const environment = call.body['scope'] === 'environment' ? environmentOf(call, accountId) : undefined;
  const { scope, confirmationName, sourceAppEnvId } = resetBody(call.body, '');
  if (scope === 'account' && sourceAppEnvId !== undefined) {
    throw invalid('sourceAppEnvId must not be sent for account scope');
  }
  if (confirmationName !== (environment?.name ?? account.name)) {
    throw rejected(world, 'confirmationName is not the exact name of what is reset');
  }
  return wipeAll(world, environment?.protections ?? protectionsOf(world, accountId));
}

/** Finds the environment to reset and its protection. A deleted environment is found by the name that its protection keeps. */
function environmentOf({ world, body }: AreaCall, accountId: string) {
  const sourceAppEnvId = required(body, 'sourceAppEnvId', text());
  const protection = protectionOf(world, sourceAppEnvId);
  const owned = protection?.accountId === accountId ? protection : undefined;
  const name = environmentIn(world, accountId, sourceAppEnvId)?.name ?? owned?.source.environmentName;
  if (name === undefined) throw notFound('environment not found');
  return { name, protections: owned === undefined ? [] : [owned] };
}

function protectionsOf(world: World, accountId: string): readonly Configuration[] {
  const rows = world.of(configurations).where('account', accountId);
  return rows.flatMap(({ configurationId }) => configurationOf(world, configurationId) ?? []);
}

function wipeAll(world: World, protections: readonly Configuration[]): AreaAnswer {
  if (protections.length === 0 && world.readings['reset.repeat'] === 'notFound') {
    throw notFound('there is no protection to reset');
  }
  for (const protection of protections) {
    const refusal = refusedReset(protection);
    if (refusal !== undefined) throw rejected(world, refusal);
  }
  if (protections.some(({ told }) => (told.pendingCleanup?.pendingCount ?? 0) > 0)) {
    return pending(world, protections);
  }
  for (const protection of protections) wipe(world, protection, wiped(protection));
  const destinations = protections.reduce((sum, protection) => sum + ownedDestinations(protection), 0);
  return ok({ configurations: protections.length, destinations });
}

/** Stops all work of some protections, which a later reset deletes. Refuses this reset, so that the client sends it again. */
function pending(world: World, protections: readonly Configuration[]): AreaAnswer {
  for (const protection of protections) keep(world, fence(protection, world.now));
  return { refusal: rejected(world, 'the cleanup at the provider is pending: retry the same reset') };
}
