//go:build cluster

package cluster_test

import (
	"testing"
	"time"
)

// The pods of both come through a sidecar, and must end with their app.
const jobs = `
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: shop}
spec:
  backoffLimit: 0
  template:
    metadata: {labels: {app: visitors}}
    spec:
      restartPolicy: Never
      containers:
        - name: app
          image: graylane/demo:dev
          args: [visit, --count=60, "http://front/"]
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: often, namespace: shop}
spec:
  schedule: "* * * * *"
  jobTemplate:
    spec:
      backoffLimit: 0
      template:
        metadata: {labels: {app: visitors}}
        spec:
          restartPolicy: Never
          containers:
            - name: app
              image: graylane/demo:dev
              args: [visit, --count=60, "http://front/"]
`

func (s *story) runJobs(t *testing.T) {
	begin := time.Now()
	s.feed(t, write(t, s.withImages(parse(t, jobs), s.tag)), "apply", "-f", "-")
	s.run(t, "-n", nsShop, "wait", "--for=condition=Complete", "job/once", "--timeout="+clusterPatience)
	s.report.note("Job of 60 requests complete after", "%s", seconds([]time.Duration{time.Since(begin)}))
	s.waitForCronJob(t)
	s.run(t, "-n", nsShop, "delete", "job/once", "cronjob/often", "--timeout="+clusterPatience)
}

// waitForCronJob returns when the job that the schedule has made is complete.
func (s *story) waitForCronJob(t *testing.T) {
	t.Helper()
	s.run(t, "-n", nsShop, "wait", "--for=jsonpath={.status.lastSuccessfulTime}", "cronjob/often", "--timeout="+clusterPatience)
	s.report.note("CronJob", "its first job is complete")
}
