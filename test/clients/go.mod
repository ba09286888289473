module graylane/test/clients

go 1.26.0

require graylane v0.0.0

replace graylane => ../..
