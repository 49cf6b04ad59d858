import { expect, it } from 'vitest';
import { flawsOf } from '../../../src/cli/definitions.ts';
import { draftsOf } from '../../../src/cli/import/manifests.ts';
import { readAccount } from '../../../src/cli/import/read-account.ts';
import type { AccountReader } from '../../../src/cli/account/reader.ts';

const configuration = {
  configurationId: 'cfg_1',
  sourceAppEnvId: 'env_1',
  generation: 2,
  settings: {
    destinationRegion: 'us-east',
    mode: 'warm',
    storageCredentialId: 'cred_1',
    snapshotIntervalMs: 300_000,
    validationIntervalMs: 86_400_000,
    rpoTargetMs: 900_000,
    rtoTargetMs: 3_600_000,
    sameRegionAcknowledged: true,
  },
  warmDestination: { envName: 'standby', appName: 'store-standby', createNewApp: true },
};

/** An account with one protection and nothing else. */
const reader: Pick<AccountReader, 'accountId' | 'read'> = {
  accountId: 'acc_1',
  read: ({ path }) => {
    const items = path.endsWith('/configurations') ? [configuration] : [];
    return Promise.resolve({ is: 'answered', status: 200, body: { apps: [], appEnvs: [], contactPoints: [], items } });
  },
};

it('a protection is written with all its settings, in the words of its definition', async () => {
  const content = await readAccount(reader, { kinds: [], members: [] });

  const [draft] = draftsOf(content, new Map()).drafts;

  expect(draft).toMatchObject({
    kind: 'DisasterProtection',
    spec: {
      environmentRef: { externalId: 'env_1' },
      destinationRegion: 'us-east',
      protectionMode: 'Warm',
      storage: { source: 'Credential', credentialId: 'cred_1' },
      snapshotIntervalSeconds: 300,
      validationIntervalSeconds: 86_400,
      rpoTargetSeconds: 900,
      rtoTargetSeconds: 3_600,
      acknowledgements: ['SameRegion'],
      target: { environmentName: 'standby', appName: 'store-standby', createNewApp: true },
    },
  });
  const object = { apiVersion: 'apphosting.dev/v1alpha1', metadata: { name: 'store' }, ...draft };
  const { kind, spec, apiVersion, metadata } = object;
  expect(flawsOf('DisasterProtection', { kind, spec, apiVersion, metadata })).toEqual([]);
});
