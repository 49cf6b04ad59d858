// POST /disaster-readiness/configure: each item stands alone, so one that breaks a rule leaves the others as they are.
import type { AreaAnswer, AreaCall } from '../../area.ts';
import { ok } from '../../area.ts';
import { credentials } from '../../accounts/records.ts';
import { configureBody, type ConfigureItem } from './bodies.ts';
import { type Item, receiptItem } from '../lists/items.ts';
import { accountOfAdmin, committed, journal, type CallReference, viewOf } from './journaling.ts';
import type { ReceiptRecord, Refused } from '../model.ts';
import { ruledOut } from '../model.ts';
import { protect } from '../protection/protection.ts';
import { keep, protectionOf } from '../rows.ts';
import { type AskedSettings, mergeSettings } from '../protection/settings.ts';
import { regionFacts, sourceFacts } from '../surroundings.ts';

/** Queues the preparation of up to 100 protections. */
export function configure(call: AreaCall): AreaAnswer {
  const { world } = call;
  const accountId = accountOfAdmin(call);
  const { common, items } = configureBody(call.body);
  const results = items.map((item) => resultOf(call, item, configureOne(call, accountId, common, item)));
  return ok({ [world.readings['configure.results']]: results });
}

function resultOf({ world }: AreaCall, { sourceAppEnvId }: ConfigureItem, result: ReceiptRecord | Refused): Item {
  return 'refused' in result
    ? { sourceAppEnvId, success: false, error: result.message }
    : { sourceAppEnvId, success: true, ...receiptItem(result, viewOf(world)) };
}

function configureOne(
  { world }: AreaCall,
  accountId: string,
  common: AskedSettings,
  item: ConfigureItem,
): ReceiptRecord | Refused {
  const { sourceAppEnvId, requestId, expectedGeneration } = item;
  const asked = mergeSettings(common, item.asked);
  const payload = payloadOf(item, asked);
  const reference: CallReference = { accountId, requestId, call: 'configure', payload };
  const before = committed(world, reference);
  if (before !== undefined) return before;
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
  keep(world, outcome, requestId);
  const { configurationId, generation, activeOperationId = '' } = outcome.configuration;
  const receipt: ReceiptRecord = { configurationId, operationId: activeOperationId, generation, phase: 'queued' };
  journal(world, reference, receipt);
  return receipt;
}

/** The payload that a repeated requestId is compared by: the effective settings, common or per item. */
function payloadOf({ sourceAppEnvId, expectedGeneration }: ConfigureItem, asked: AskedSettings): string {
  const { target } = asked;
  const { envName, createNewApp, appName } = target ?? {};
  const names = target === undefined ? null : [envName?.trim(), createNewApp === true, appName?.trim()];
  const settings = Object.entries({ ...asked, target: names }).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([sourceAppEnvId, expectedGeneration, settings]);
}
