import { describe, expect, it } from 'vitest';
import { parseStatus, renderStatus, type StoredStatus } from '../../../src/engine/objects/stored.ts';
import { contactPoint } from '../../../src/kinds/contact-point/contact-point.ts';

const journal = {
  operation: 'activate',
  attempt: 1,
  endpoint: 'api.example.com',
  accountId: 'acc_1',
  startedAt: '2026-01-01T00:00:00Z',
  deadlineSeconds: 30,
  digest: 'k:1',
  payload: 'x'.repeat(32_768),
};

const lists = {
  drift: Array.from({ length: 150 }, (_none, nth) => ({ field: `f${nth}`, desired: 'd'.repeat(5_000), observed: '' })),
  unverified: [],
  leftover: [],
};

function stored(facts: object): StoredStatus {
  return {
    memory: { id: 'cp_1', ownership: 'Created', binding: undefined, journal, applied: undefined, facts },
    conditions: [],
    lastHandledReconcileAt: undefined,
    damaged: undefined,
  };
}

describe('a status', () => {
  it('is cut to its schema, and names the lists that lost entries', () => {
    const deployments = Array.from({ length: 120 }, (_none, nth) => ({ region: `r${nth}` }));

    const status = renderStatus(contactPoint, stored({ type: 'email', deployments }), lists);

    expect(status['deployments']).toHaveLength(100);
    expect(status['drift']).toHaveLength(100);
    expect(JSON.stringify(status['drift'])).toContain('d…');
    expect(status['truncated']).toEqual([
      { field: 'deployments', total: 120 },
      { field: 'drift', total: 150 },
    ]);
  });

  it('carries id and journal as they are', () => {
    const status = renderStatus(contactPoint, stored({}), lists);

    expect(parseStatus(contactPoint, status).memory).toMatchObject({ id: 'cp_1', journal });
  });
});
