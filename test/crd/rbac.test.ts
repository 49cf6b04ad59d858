import { describe, expect, it } from 'vitest';
import { kinds } from '../../src/kinds/index.ts';
import { clusterWide, forUsers, namespaced, ownNamespace, type Role } from '../../src/crd/rbac.ts';

const dangerous = ['recoveryactivations', 'activationdiscards', 'disasterresets'];

/** Everything that roles allow, one `verb resource` a line. */
function allowed(roles: readonly Role[]): readonly string[] {
  return roles
    .flatMap(({ rules }) => rules)
    .flatMap(({ resources, verbs }) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`)));
}

function named(name: string): readonly Role[] {
  return forUsers(kinds).filter(({ metadata }) => metadata.name === name);
}

describe('permissions of the operator', () => {
  it('never change a spec, and patch only what a finalizer holds', () => {
    const patched = allowed(clusterWide(kinds)).filter((one) => /^(patch|update|delete|create) /u.test(one));

    expect(patched.filter((one) => !/(\/status|events)$/u.test(one)).toSorted()).toEqual(
      kinds
        .filter(({ holds }) => holds)
        .map(({ plural }) => `patch ${plural}`)
        .toSorted(),
    );
  });

  it('have no wildcard anywhere', () => {
    const roles = [...clusterWide(kinds), ...namespaced(kinds), ...ownNamespace(), ...forUsers(kinds)];

    expect(JSON.stringify(roles)).not.toContain('*');
  });

  it('reach nothing outside of the namespace in namespaced mode', () => {
    expect(namespaced(kinds).map(({ kind }) => kind)).toEqual(['Role']);
    expect(allowed(namespaced(kinds)).filter((one) => /clusterhosting|namespaces/u.test(one))).toEqual([]);
  });
});

describe('permissions of people', () => {
  it.each(['apphosting-edit', 'apphosting-admin'])('%s can neither activate nor reset', (name) => {
    const touched = allowed(named(name)).filter((one) => dangerous.some((plural) => one.endsWith(plural)));

    expect(touched).toEqual([]);
    expect(allowed(named(name)).filter((one) => one.startsWith('activate'))).toEqual([]);
  });

  it.each([
    ['apphosting-activator', ['recoveryactivations', 'activationdiscards']],
    ['apphosting-resetter', ['disasterresets']],
  ])('%s is given by hand and creates only its own requests', (name, plurals) => {
    expect(named(name)[0]?.metadata.labels).toBeUndefined();
    expect(allowed(named(name)).filter((one) => one.startsWith('create'))).toEqual(
      plurals.map((plural) => `create ${plural}`),
    );
  });

  it('let everyone who may view see every kind', () => {
    expect(allowed(named('apphosting-view')).filter((one) => one.startsWith('get '))).toEqual(
      kinds.map(({ plural }) => `get ${plural}`),
    );
  });

  it('guard every kind by one role at most', () => {
    const writers = ['apphosting-edit', 'apphosting-admin', 'apphosting-activator', 'apphosting-resetter'];
    const created = allowed(writers.flatMap(named)).filter((one) => one.startsWith('create '));

    expect(created.toSorted()).toEqual(
      kinds
        .filter(({ scope }) => scope === 'Namespaced')
        .map(({ plural }) => `create ${plural}`)
        .toSorted(),
    );
  });
});
