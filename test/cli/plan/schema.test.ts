import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { planSchema } from '../../../src/cli/plan/model.ts';

it('docs/cli/plan.schema.json is the schema of what apphosting plan -o json prints', () => {
  const published = readFileSync(join(import.meta.dirname, '../../../docs/cli/plan.schema.json'), 'utf8');

  expect(JSON.parse(published)).toEqual(planSchema());
});
