module graylane/test/differential

go 1.26.0

require graylane v0.0.0

require github.com/mccutchen/go-httpbin/v2 v2.26.0

replace graylane => ../..
