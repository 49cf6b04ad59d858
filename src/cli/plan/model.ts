/** Defines the data of a plan, which every output format prints; it holds no secret. */
import { z } from 'zod';

const Field = z
  .strictObject({
    name: z.string().describe('The name of the field in the service, such as threshold or config.url.'),
    before: z.json().optional().describe('The value that the service shows now. Absent if the service shows no value.'),
    after: z
      .json()
      .optional()
      .describe(
        'The value that the call sends; ? if it is not known, as in the fields of the answer. Absent for a secret, for a field that is removed, and for a field of an `unknown` row.',
      ),
    secret: z
      .boolean()
      .optional()
      .describe('True if the value is a secret: the plan shows only that the call sends it.'),
  })
  .describe('One field of the call or of its answer; in an `unknown` row, a field that the service hides.');

const Row = z
  .strictObject({
    action: z
      .enum(['create', 'change', 'deploy', 'access', 'request', 'delete', 'unknown'])
      .describe(
        '`create`, `change` and `delete`: the call creates, changes or deletes an object in the service. `deploy`: it deploys, restarts, stops or starts an environment. `access`: it changes which environments a member can access. `request`: it requests a recovery operation. `unknown`: the plan cannot tell what happens.',
      ),
    kind: z.string(),
    namespace: z.string(),
    name: z.string(),
    call: z
      .string()
      .optional()
      .describe('The method and path of the call, such as PATCH /alert. Absent if nothing is sent.'),
    fields: z.array(Field),
    note: z.string().optional(),
    restarts: z.string().optional().describe('The environments that the call deploys, restarts, stops or starts.'),
    file: z.string().optional(),
    line: z.int().optional(),
  })
  .describe(
    'A call that the operator would send. With the action `unknown`: what the plan cannot tell about a resource.',
  );

const Finding = z
  .strictObject({
    code: z
      .enum(['Unreadable', 'Invalid', 'Duplicate', 'Stalled', 'ReadFailed', 'NotQuiet', 'NoResources', 'NoCredential'])
      .describe('The kind of the finding.'),
    incomplete: z.boolean().describe('True if the plan may be incomplete because of this finding.'),
    message: z.string(),
    kind: z.string().optional(),
    namespace: z.string().optional(),
    name: z.string().optional(),
    file: z.string().optional(),
    line: z.int().optional(),
  })
  .describe('A problem with the manifests, or with reading the service or the cluster.');

/** The schema of a plan, which `apphosting plan -o json` prints. */
export const Plan = z
  .strictObject({
    format: z.literal('apphosting-plan'),
    version: z.literal(1),
    name: z
      .string()
      .describe('The name of the plan, by which a tool finds the earlier pull request comment to update.'),
    accounts: z.array(
      z.strictObject({
        accountId: z.string(),
        endpoint: z.string(),
        asOf: z.string().describe('The time at which the account was read.'),
      }),
    ),
    complete: z.boolean().describe('False if something could not be read, so that the plan may lack changes.'),
    rows: z.array(Row).describe('The changes that applying the manifests would cause.'),
    drift: z.array(Row).describe('Differences between the resources and the service before the manifests are applied.'),
    findings: z.array(Finding),
    notes: z.array(z.string()),
    counts: z.record(z.string(), z.int()).describe('For each action, the number of rows with that action.'),
    reads: z.strictObject({ asked: z.int(), answered: z.int() }),
    calls: z.strictObject({
      total: z.int().describe('The number of calls that change something in the service.'),
      requestsPerSecond: z.number(),
      seconds: z.int().describe('The minimum time in seconds that all calls together take at `requestsPerSecond`.'),
    }),
  })
  .describe('A plan, as `apphosting plan -o json` prints it.');

export type Plan = z.output<typeof Plan>;
export type PlanRow = Plan['rows'][number];
export type PlanField = PlanRow['fields'][number];
export type Finding = Plan['findings'][number];
export type PlanAction = PlanRow['action'];

/** Returns the JSON schema of a plan, which the documentation publishes. */
export function planSchema(): object {
  return { title: 'apphosting plan', ...z.toJSONSchema(Plan) };
}
