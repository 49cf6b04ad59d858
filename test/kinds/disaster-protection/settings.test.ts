import { describe, expect, it } from 'vitest';
import type { ProtectionPass } from '../../../src/kinds/disaster-protection/binding.ts';
import { differenceOf, itemOf } from '../../../src/kinds/disaster-protection/settings.ts';
import type { DisasterProtectionSpec } from '../../../src/kinds/disaster-protection/schema.ts';
import { aConfiguration, aPass, noMemory } from '../support/disaster-pass.ts';

function aProtectionPass(spec: Partial<DisasterProtectionSpec>): ProtectionPass {
  return { ...aPass(), spec: { environmentRef: { externalId: 'env_1' }, ...spec }, memory: noMemory };
}

const saved = { envName: 'recovered', appName: 'orders-recovered', createNewApp: true };

describe('the item that sets a protection up', () => {
  it.each<readonly [because: string, spec: Partial<DisasterProtectionSpec>, expected: object]>([
    ['the spec says nothing', {}, {}],
    ['storage is the source’s', { storage: { source: 'Inherited' } }, {}],
    ['storage is the platform’s', { storage: { source: 'Platform' } }, { storageCredentialId: null }],
    [
      'storage is one’s own',
      { storage: { source: 'Credential', credentialId: 'cred_1' } },
      { storageCredentialId: 'cred_1' },
    ],
    ['the same region is acknowledged', { acknowledgements: ['SameRegion'] }, { sameRegionAcknowledged: true }],
    [
      'times are given',
      {
        snapshotIntervalSeconds: 60,
        validationIntervalSeconds: 2_592_000,
        rpoTargetSeconds: 120,
        rtoTargetSeconds: 600,
      },
      { snapshotIntervalMs: 60_000, validationIntervalMs: 2_592_000_000, rpoTargetMs: 120_000, rtoTargetMs: 600_000 },
    ],
    [
      'it is warm',
      {
        protectionMode: 'Warm',
        target: { environmentName: ' recovered ', appName: ' orders-recovered ', createNewApp: true },
      },
      { mode: 'warm', target: saved },
    ],
  ])('when %s', (_because, spec, expected) => {
    expect(itemOf(aProtectionPass(spec))).toEqual({
      sourceAppEnvId: 'env_1',
      expectedGeneration: 0,
      ...expected,
    });
  });
});

describe('the item of an edit', () => {
  const settings = {
    destinationRegion: 'us-east',
    mode: 'cold',
    storageCredentialId: null,
    snapshotIntervalMs: 300_000,
    sameRegionAcknowledged: true,
  };
  const kept = { sourceAppEnvId: 'env_1', expectedGeneration: 3, ...settings };

  it('keeps what the spec leaves open: region, mode, storage, acknowledgment and saved names', () => {
    const configuration = aConfiguration({ settings, plannedDestination: saved });

    expect(itemOf(aProtectionPass({ rtoTargetSeconds: 600 }), configuration)).toEqual({
      ...kept,
      rtoTargetMs: 600_000,
      target: saved,
    });
  });

  it('sends no names where none are saved, and goes back to the storage of the source where that is stated', () => {
    const configuration = aConfiguration({ settings });
    const { storageCredentialId: _platform, ...rest } = kept;

    expect(itemOf(aProtectionPass({ storage: { source: 'Inherited' } }), configuration)).toEqual(rest);
  });

  it('is asked for by exactly the fields that differ, in the words of the spec', () => {
    const configuration = aConfiguration({
      settings: { ...settings, snapshotIntervalMs: 300_500 },
      plannedDestination: saved,
    });
    const spec: Partial<DisasterProtectionSpec> = {
      destinationRegion: 'us-east',
      protectionMode: 'Cold',
      storage: { source: 'Credential', credentialId: 'cred_1' },
      snapshotIntervalSeconds: 600,
      target: { environmentName: 'recovered', appName: 'orders-recovered', createNewApp: true },
    };

    expect(differenceOf(aProtectionPass(spec), configuration).drift).toEqual([
      { field: 'storage', desired: 'Credential cred_1', observed: 'Platform' },
      { field: 'snapshotIntervalSeconds', desired: '600', observed: '300.5' },
    ]);
  });
});

describe('the names of a recovered environment', () => {
  const named = { environmentName: 'recovered', appName: 'orders-recovered' };

  it.each<
    readonly [because: string, target: NonNullable<DisasterProtectionSpec['target']>, differing: readonly string[]]
  >([
    ['a database gets a new app also where that is left out', named, []],
    ['a database gets a new app also where false is written out', { ...named, createNewApp: false }, []],
    ['the service trims names', { ...named, appName: ' orders-recovered ', createNewApp: false }, []],
    ['another new app is another one', { ...named, appName: 'other', createNewApp: false }, ['target']],
    ['without a name, none is wanted', { environmentName: 'recovered', createNewApp: false }, ['target']],
    ['another environment is another one', { ...named, environmentName: 'other' }, ['target']],
  ])('are compared so that %s', (_because, target, differing) => {
    const configuration = aConfiguration({ plannedDestination: saved });

    expect(differenceOf(aProtectionPass({ target }), configuration).differing).toEqual(differing);
  });
});
