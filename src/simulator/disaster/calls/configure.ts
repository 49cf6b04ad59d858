// POST /disaster-readiness/configure: each item stands alone, so one that breaks a rule leaves the others as they are.
import { type AreaAnswer, type AreaCall, ok } from '../../area.ts';
import { credentials } from '../../accounts/records.ts';
import { type AskedSettings, configureBody, type ConfigureItem } from './bodies.ts';
import { receiptItem } from './items.ts';
import { accountOfAdmin, once } from './journaling.ts';
import { type ReceiptRecord, type Refused, ruledOut } from '../model.ts';
import { protect } from '../protection.ts';
import { protectionOf } from '../rows.ts';
import { regionFacts, sourceFacts } from '../surroundings.ts';

/** Queues the preparation of up to 100 protections. */
export function configure(call: AreaCall): AreaAnswer {
  const { world } = call;
  const accountId = accountOfAdmin(call);
  const { common, items } = configureBody(call.body);
  const results = items.map((item) => {
    const { sourceAppEnvId } = item;
    const result = configureOne(call, accountId, common, item);
    return 'refused' in result
      ? { sourceAppEnvId, success: false, error: result.message }
      : { sourceAppEnvId, success: true, ...receiptItem(result, world) };
  });
  return ok({ [world.readings['configure.results']]: results });
}

function configureOne(
  { world }: AreaCall,
  accountId: string,
  common: AskedSettings,
  { sourceAppEnvId, requestId, expectedGeneration, ...own }: ConfigureItem,
): ReceiptRecord | Refused {
  const asked = { ...common, ...own };
  const payload = JSON.stringify([sourceAppEnvId, expectedGeneration, effective(asked)]);
  return once(world, { accountId, requestId, call: 'configure', payload }, () => {
    const facts = sourceFacts(world, accountId, sourceAppEnvId);
    if (facts === undefined) return ruledOut('environment not found');
    const outcome = protect(protectionOf(world, sourceAppEnvId), {
      accountId,
      expectedGeneration,
      asked,
      facts,
      regions: regionFacts(world),
      hasStorageCredential: (credentialId) => {
        const credential = world.of(credentials).get(credentialId);
        return credential?.accountId === accountId && credential.kind === 'storage';
      },
      now: world.now,
      newId: (prefix) => world.id(prefix),
    });
    if ('refused' in outcome) return outcome;
    return { ...outcome, operationId: outcome.configuration.activeOperationId ?? '' };
  });
}

/** The effective settings, common or per item: a repeated requestId is compared by them. */
function effective(asked: AskedSettings): readonly unknown[] {
  const { target } = asked;
  const names = target && [target.envName?.trim(), target.createNewApp === true, target.appName?.trim()];
  return Object.entries({ ...asked, target: names ?? null }).toSorted(([one], [other]) => (one < other ? -1 : 1));
}
