import { describe, expect, it } from 'vitest';
import type { Related } from '../../../src/engine/kind/contract/pass.ts';
import type { Memory } from '../../../src/engine/kind/contract/step.ts';
import { memberAccess } from '../../../src/kinds/member-access/member-access.ts';
import type { MemberAccessFacts } from '../../../src/kinds/member-access/schema.ts';
import { appEnvsOf, memberAccessOf, type AppEnvItem } from '../../../src/hosting/requests.ts';
import { callIn, inShort, settledStep, shows, type PassOptions, type Shown } from '../support/pass.ts';

const list = appEnvsOf('acc_1');
const access = memberAccessOf('acc_1', 'mem_1');

function environments(...ids: readonly string[]): Shown {
  return shows(
    list,
    ids.map((appEnvId) => ({ appEnvId, appId: 'app_1', name: appEnvId, status: 'running' }) as AppEnvItem),
  );
}

function allowed(...ids: readonly string[]): Shown {
  return shows(access, [{ membershipId: 'mem_1', allowedAppEnvIds: ids }]);
}

const restricted = (...ids: readonly string[]) => ({
  externalId: 'mem_1',
  access: 'Restricted',
  environmentRefs: ids.map((externalId) => ({ externalId })),
});

/** What is remembered after these ids were applied for the spec of a generation. */
function applied(generation: number, ...ids: readonly string[]): Partial<Memory<MemberAccessFacts>> {
  return {
    id: 'mem_1',
    ownership: 'Adopted',
    applied: { generation, fingerprints: {} },
    facts: { setAppEnvIds: [...ids] },
  };
}

/** The same, and these were asked for once. */
function withdrawn(
  memory: Partial<Memory<MemberAccessFacts>>,
  ...ids: readonly string[]
): Partial<Memory<MemberAccessFacts>> {
  return { ...memory, facts: { ...memory.facts, askedAppEnvIds: [...ids] } };
}

const patch = (...ids: readonly string[]) =>
  `PATCH /member/env-access ${JSON.stringify({ accountId: 'acc_1', membershipId: 'mem_1', allowedAppEnvIds: ids })}`;

interface Row extends PassOptions<MemberAccessFacts> {
  readonly because: string;
  readonly comesTo: string;
}

const neverWider: readonly Row[] = [
  {
    because: 'a reference does not resolve',
    spec: { ...restricted('a'), environmentRefs: [{ externalId: 'a' }, { name: 'later' }] },
    shown: [environments('a', 'b'), allowed('a', 'b')],
    memory: applied(0, 'a', 'b'),
    comesTo: 'wait ReferenceNotReady',
  },
  {
    because: 'no reference resolves and the member has full access that we never restricted',
    spec: { externalId: 'mem_1', access: 'Restricted', environmentRefs: [{ name: 'later' }] },
    shown: [environments('a'), allowed()],
    comesTo: 'wait ReferenceNotReady',
  },
  {
    because: 'an environment of the spec is deleted and the service shortened the list by itself',
    spec: restricted('a', 'b'),
    shown: [environments('a'), allowed('a')],
    memory: applied(1, 'a', 'b'),
    comesTo: 'wait EnvironmentNotFound',
  },
  {
    because: 'an environment is deleted and still in the list',
    spec: restricted('a', 'b'),
    shown: [environments('a'), allowed('a', 'b')],
    memory: applied(1, 'a', 'b'),
    comesTo: 'ready InSync',
  },
  {
    because: 'the token suddenly sees none of the environments',
    spec: restricted('a', 'b'),
    shown: [environments(), allowed('a', 'b')],
    memory: applied(1, 'a', 'b'),
    comesTo: 'ready InSync',
  },
  {
    because: 'a resource that was referred to has another id now, and the spec was not edited',
    spec: { externalId: 'mem_1', access: 'Restricted', environmentRefs: [{ name: 'web' }] },
    referred: { 'AppEnvironment/web': { id: 'new', facts: {} } },
    shown: [environments('old', 'new'), allowed('old')],
    memory: applied(1, 'old'),
    comesTo: 'stall EnvironmentChanged',
  },
  {
    because: 'two references mean the same environment now',
    spec: {
      externalId: 'mem_1',
      access: 'Restricted',
      environmentRefs: [{ name: 'web' }, { externalId: 'a' }],
    },
    referred: { 'AppEnvironment/web': { id: 'a', facts: {} } },
    shown: [environments('a', 'b'), allowed('a', 'b')],
    memory: applied(1, 'a', 'b'),
    comesTo: 'ready InSync',
  },
  {
    because: 'an environment that an earlier spec asked for comes back',
    spec: restricted('b'),
    shown: [environments('a', 'b'), allowed('a')],
    memory: withdrawn(applied(1, 'b'), 'a'),
    comesTo: patch('b'),
  },
  {
    because: 'the answer to the first list was lost, and the spec names another environment now',
    spec: restricted('b'),
    shown: [environments('a', 'b', 'c'), allowed('a', 'c')],
    memory: withdrawn({ id: 'mem_1', ownership: 'Adopted' }, 'a'),
    comesTo: patch('b', 'c'),
  },
  {
    because: 'an environment of the spec is deleted, and another one is added',
    spec: restricted('a', 'b', 'c'),
    shown: [environments('a', 'c'), allowed('a', 'b')],
    subject: { generation: 2 },
    memory: applied(1, 'a', 'b'),
    comesTo: 'wait EnvironmentNotFound',
  },
  {
    because: 'the list could not be read yet',
    spec: restricted('a'),
    shown: [environments('a')],
    memory: applied(1, 'a'),
    comesTo: 'read memberAccess/mem_1',
  },
  {
    because: 'the membership does not exist',
    spec: restricted('a'),
    shown: [environments('a'), shows(access, [])],
    comesTo: 'stall NotFound',
  },
  {
    because: 'the service emptied the list, and no environment of the spec is left',
    spec: restricted('a'),
    shown: [environments('b'), allowed()],
    memory: applied(1, 'a'),
    comesTo: 'stall AccessWiderThanSpec',
  },
  {
    because: 'another resource owns the membership',
    spec: restricted('a'),
    shown: [environments('a'), allowed()],
    claimant: () => ({ name: 'MemberAccess team/older', goesFirst: true }),
    comesTo: 'stall Claimed',
  },
  {
    because: 'the account does not allow adoption',
    spec: restricted('a'),
    shown: [environments('a'), allowed()],
    account: { adoption: 'Never' },
    comesTo: 'stall AdoptionNotAllowed',
  },
];

const shorterByEdit: readonly Row[] = [
  {
    because: 'the spec was edited: what we set and no longer want goes',
    spec: restricted('a'),
    shown: [environments('a', 'b'), allowed('a', 'b')],
    subject: { generation: 2 },
    memory: applied(1, 'a', 'b'),
    comesTo: patch('a'),
  },
  {
    because: 'what the service added by itself is kept by default',
    spec: restricted('a'),
    shown: [environments('a', 'b', 'c'), allowed('a', 'b', 'c')],
    subject: { generation: 2 },
    memory: applied(1, 'a', 'b'),
    comesTo: patch('a', 'c'),
  },
  {
    because: 'what the service added by itself is removed where the spec says so',
    spec: { ...restricted('a'), onServiceAdd: 'Remove' },
    shown: [environments('a', 'c'), allowed('a', 'c')],
    memory: applied(1, 'a'),
    comesTo: patch('a'),
  },
  {
    because: 'a fully open member is restricted for the first time',
    spec: restricted('b', 'a'),
    shown: [environments('a', 'b'), allowed()],
    comesTo: patch('a', 'b'),
  },
  {
    because: 'somebody removed an environment: it is put back',
    spec: restricted('a', 'b'),
    shown: [environments('a', 'b'), allowed('b')],
    memory: applied(1, 'a', 'b'),
    comesTo: patch('a', 'b'),
  },
];

const closing: readonly Row[] = [
  {
    because: 'the service emptied the list: the whole list again',
    spec: restricted('a', 'b'),
    shown: [environments('a', 'b'), allowed()],
    memory: applied(1, 'a', 'b'),
    comesTo: patch('a', 'b'),
  },
  {
    because: 'only some environments are left',
    spec: restricted('a', 'b'),
    shown: [environments('b'), allowed()],
    memory: applied(1, 'a', 'b'),
    comesTo: patch('b'),
  },
  {
    because: 'a reference means another environment since then, and the known one is there',
    spec: { ...restricted('a'), environmentRefs: [{ externalId: 'a' }, { name: 'web' }] },
    referred: { 'AppEnvironment/web': { id: 'new', facts: {} } },
    shown: [environments('a', 'new'), allowed()],
    memory: applied(1, 'a', 'old'),
    comesTo: patch('a'),
  },
  {
    because: 'the only reference means another environment since then, which is less than all',
    spec: { externalId: 'mem_1', access: 'Restricted', environmentRefs: [{ name: 'web' }] },
    referred: { 'AppEnvironment/web': { id: 'new', facts: {} } },
    shown: [environments('a', 'new'), allowed()],
    memory: applied(1, 'old'),
    comesTo: patch('new'),
  },
  {
    because: 'a reference does not resolve any more: the rest closes it',
    spec: { ...restricted('a'), environmentRefs: [{ externalId: 'a' }, { name: 'gone' }] },
    shown: [environments('a'), allowed()],
    memory: applied(1, 'a', 'x'),
    comesTo: patch('a'),
  },
];

const open: readonly Row[] = [
  {
    because: 'the spec says Full',
    spec: { externalId: 'mem_1', access: 'Full' },
    shown: [allowed('a')],
    comesTo: patch(),
  },
  {
    because: 'GrantFullAccess was chosen and the resource is deleted',
    spec: { ...restricted('a'), lifecycle: { onDelete: 'GrantFullAccess' } },
    shown: [environments('a'), allowed('a')],
    subject: { deleting: true },
    memory: applied(1, 'a'),
    comesTo: patch(),
  },
];

const left: readonly Row[] = [
  {
    because: 'deleting leaves the restriction',
    spec: restricted('a'),
    shown: [environments('a'), allowed('a')],
    subject: { deleting: true },
    memory: applied(1, 'a'),
    comesTo: 'release',
  },
  {
    because: 'it was never applied',
    spec: { ...restricted('a'), lifecycle: { onDelete: 'GrantFullAccess' } },
    shown: [environments('a'), allowed('b')],
    subject: { deleting: true },
    comesTo: 'release',
  },
  {
    because: 'the account is only observed',
    spec: { ...restricted('a'), lifecycle: { onDelete: 'GrantFullAccess' } },
    shown: [environments('a'), allowed('a')],
    subject: { deleting: true },
    account: { managementPolicy: 'Observe' },
    memory: applied(1, 'a'),
    comesTo: 'release',
  },
  {
    because: 'the annotation says Retain',
    spec: { ...restricted('a'), lifecycle: { onDelete: 'GrantFullAccess' } },
    shown: [environments('a'), allowed('a')],
    subject: { deleting: true, annotations: { 'apphosting.dev/on-delete': 'Retain' } },
    memory: applied(1, 'a'),
    comesTo: 'release',
  },
  {
    because: 'an older resource owns the membership',
    spec: { ...restricted('a'), lifecycle: { onDelete: 'GrantFullAccess' } },
    shown: [environments('a'), allowed('a')],
    subject: { deleting: true },
    claimant: () => ({ name: 'MemberAccess team/older', goesFirst: true }),
    memory: applied(1, 'a'),
    comesTo: 'release',
  },
  {
    because: 'a younger resource has come to restrict the same member, as when it is renamed',
    spec: { ...restricted('a'), lifecycle: { onDelete: 'GrantFullAccess' } },
    shown: [environments('a'), allowed('a')],
    subject: { deleting: true },
    claimant: () => ({ name: 'MemberAccess team/younger', goesFirst: false }),
    memory: applied(1, 'a'),
    comesTo: 'release',
  },
];

describe('the access of a member', () => {
  it.each(neverWider)('is not widened when $because', ({ comesTo, ...options }) => {
    expect(inShort(settledStep(memberAccess, options))).toBe(comesTo);
  });

  it.each(shorterByEdit)('is what the spec says: $because', ({ comesTo, ...options }) => {
    expect(inShort(settledStep(memberAccess, options))).toBe(comesTo);
  });

  it.each(closing)('is closed again at once: $because', ({ comesTo, ...options }) => {
    const call = callIn(settledStep(memberAccess, options));

    expect(inShort({ is: 'call', call })).toBe(comesTo);
    expect(call.warns?.reason).toBe('AccessWiderThanSpec');
  });

  it.each(open)('is full only when $because', ({ comesTo, ...options }) => {
    expect(inShort(settledStep(memberAccess, options))).toBe(comesTo);
  });

  it.each(left)('stays as it is at the end: $because', ({ comesTo, ...options }) => {
    expect(inShort(settledStep(memberAccess, options))).toBe(comesTo);
  });

  it.each([
    ['nothing was asked for', {}, 'it is not certain that this resource restricted it'],
    [
      'what was asked for was never answered with a yes',
      { askedAppEnvIds: ['a'] },
      'it is not certain that this resource restricted it',
    ],
  ])('is not opened at the end of what was never applied, and says why: %s', (_because, facts, why) => {
    const step = settledStep(memberAccess, {
      spec: { ...restricted('a'), lifecycle: { onDelete: 'GrantFullAccess' } },
      shown: [environments('a'), allowed('b')],
      subject: { deleting: true },
      memory: { id: 'mem_1', ownership: 'Adopted', facts },
    });

    expect(step).toMatchObject({ is: 'release', stays: expect.stringContaining(why) as string });
  });

  it('is not fought over for ever', () => {
    const step = settledStep(memberAccess, {
      spec: restricted('a'),
      shown: [environments('a'), allowed('a', 'b'), allowed()],
      memory: applied(1, 'a', 'b'),
      with: { contested: new Set(['environments']), wrote: undefined },
    });

    expect(inShort(step)).toBe('ready InSync');
  });

  it('is written over a list that was read for it, since the service adds to the list by itself', () => {
    const step = settledStep(memberAccess, {
      spec: restricted('a', 'b'),
      shown: [environments('a', 'b'), allowed('a')],
      memory: applied(0, 'a'),
      with: { askedAt: 9_000 },
    });

    expect(inShort(step)).toBe('read memberAccess/mem_1');
  });

  it('is not taken for applied when only the rest of it closes what the service lifted', () => {
    const call = callIn(
      settledStep(memberAccess, {
        spec: { ...restricted('a'), environmentRefs: [{ externalId: 'a' }, { name: 'later' }] },
        shown: [environments('a'), allowed()],
        subject: { generation: 2 },
        memory: applied(1, 'x'),
      }),
    );

    expect(call.committed({})).toEqual({ facts: { setAppEnvIds: ['a', 'x'] } });
  });

  it('is written down before it asks for what was never asked for', () => {
    const step = settledStep(memberAccess, {
      spec: restricted('a', 'b'),
      shown: [environments('a', 'b'), allowed('a')],
      memory: applied(0, 'a'),
    });

    expect(callIn(step).whileInFlight).toEqual({ facts: { setAppEnvIds: ['a'], askedAppEnvIds: ['a', 'b'] } });
  });

  it('is sent without a word in status before when it only takes away', () => {
    const step = settledStep(memberAccess, {
      spec: restricted('a'),
      shown: [environments('a', 'b'), allowed('a', 'b')],
      memory: applied(0, 'a', 'b'),
    });

    expect(callIn(step).whileInFlight).toBeUndefined();
    expect(callIn(step).committed({})?.facts).toEqual({ setAppEnvIds: ['a'], askedAppEnvIds: ['b'] });
  });

  it('learns what the resource before it asked for while it waits for its turn', () => {
    const name = 'MemberAccess team/older';
    const facts = { setAppEnvIds: ['a', 'b'], askedAppEnvIds: ['c'] };
    const step = settledStep(memberAccess, {
      spec: restricted('a'),
      shown: [environments('a', 'b'), allowed('a', 'b')],
      claimant: () => ({ name, goesFirst: true }),
      with: { related: () => [{ name, namespace: 'team', id: 'mem_1', facts } as unknown as Related] },
    });

    expect(step).toMatchObject({ reason: 'Claimed', remember: { facts: { askedAppEnvIds: ['a', 'b', 'c'] } } });
  });

  it('says which reference means another environment than before', () => {
    const step = settledStep(memberAccess, {
      spec: { externalId: 'mem_1', access: 'Restricted', environmentRefs: [{ name: 'web' }] },
      referred: { 'AppEnvironment/web': { id: 'new', facts: {} } },
      shown: [environments('old', 'new'), allowed('old')],
      memory: applied(1, 'old'),
    });

    expect(step).toMatchObject({
      message: expect.stringContaining('AppEnvironment web now manages environment new') as string,
    });
  });

  describe('that the service refuses with what the spec does not name', () => {
    const options: PassOptions<MemberAccessFacts> = {
      spec: restricted('a'),
      shown: [environments('a'), allowed('ghost')],
      memory: applied(0),
    };

    it('is tried without what nobody finds, after another look a poll later', () => {
      const refused = callIn(settledStep(memberAccess, options)).refused?.({ is: 'notFound', message: 'no such' }, 0);
      const notes = refused?.note ?? {};
      const [soon, later] = [1_000, 80_000].map((begunAt) =>
        settledStep(memberAccess, {
          ...options,
          shown: [{ ...environments('a'), begunAt }, allowed('ghost')],
          with: { notes },
        }),
      );

      expect(refused?.message).toContain('the service does not list environment ghost');
      expect([soon, later].map((step) => step && inShort(step))).toEqual(['read appEnvs', patch('a')]);
    });

    it('keeps what shows by then', () => {
      const step = settledStep(memberAccess, {
        ...options,
        shown: [{ ...environments('a', 'ghost'), begunAt: 80_000 }, allowed('ghost')],
        with: { notes: { deniedAt: 10_000 } },
      });

      expect(inShort(step)).toBe(patch('a', 'ghost'));
    });
  });
});
